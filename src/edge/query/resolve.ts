import type { Outcome } from '../../core/query/outcome.ts';
import type { Query } from '../../core/query/query.ts';
import type { HostedView } from '../hosted/view.ts';
import { answerPublic, type Services } from './operations/operations.ts';
import { type GateSettings, judge } from './records/access.ts';
import { demoRecord } from './records/demo-records.ts';
import { hostedOutcome } from './records/hosted-outcome.ts';

export interface ResolveContext {
  readonly view: HostedView;
  readonly gate: GateSettings;
  readonly services: Services;
}

const STORAGE_FAILED: Outcome = { kind: 'failed', cause: 'storage' };

/**
 * What becomes of a query: the gate, then the service or the stored record it asks for. Never throws or rejects: a view
 * that cannot be read, or a service that fails, is a failed outcome.
 *
 * @param now milliseconds since the epoch
 * @param zone the zone that was asked, without a trailing dot: public services name it where they describe themselves
 */
export function resolve(
  query: Query,
  context: ResolveContext,
  now: number,
  zone: string,
): Outcome | Promise<Outcome> {
  try {
    const verdict = judge(query, context.view, context.gate, now);
    switch (verdict.kind) {
      case 'refused':
        return { kind: 'refused', until: verdict.until };
      case 'public':
        return answerPublic(query, context.services, now, zone);
      case 'demo': {
        const stored = context.view.record(query.key);
        return hostedOutcome(stored ?? demoRecord(query.params, query.resource, query.version), false, now);
      }
      case 'open':
        return hostedOutcome(context.view.record(query.key), false, now);
      case 'private':
        return endingBy(verdict.until, hostedOutcome(context.view.record(query.key), true, now));
    }
  } catch {
    return STORAGE_FAILED;
  }
}

/** The outcome, but true no longer than the token that opened it. */
function endingBy(until: number, outcome: Outcome): Outcome {
  return outcome.kind === 'answer' || outcome.kind === 'empty'
    ? { ...outcome, until: Math.min(outcome.until, until) }
    : outcome;
}
