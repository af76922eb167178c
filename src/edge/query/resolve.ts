import type { Outcome } from '../../core/query/outcome.ts';
import type { Query } from '../../core/query/query.ts';
import type { HostedView } from '../hosted/view.ts';
import { answerPublic, type Services } from './operations/operations.ts';
import { type AccessSettings, checkAccess } from './records/access.ts';
import { demoRecord } from './records/demo-records.ts';
import { hostedOutcome } from './records/hosted-outcome.ts';

export interface ResolveContext {
  readonly view: HostedView;
  readonly access: AccessSettings;
  readonly services: Services;
}

const STORAGE_FAILED: Outcome = { kind: 'failed', cause: 'storage' };

/**
 * Checks access, then asks the service or reads the record. Never throws or rejects: an unreadable view is a failed
 * outcome. `now` in milliseconds since the epoch; `zone` without a trailing dot, for texts of services.
 */
export function resolve(
  query: Query,
  context: ResolveContext,
  now: number,
  zone: string,
): Outcome | Promise<Outcome> {
  try {
    const access = checkAccess(query, context.view, context.access, now);
    switch (access.kind) {
      case 'refused':
        return { kind: 'refused', until: access.until };
      case 'public':
        return answerPublic(query, context.services, now, zone);
      case 'demo': {
        const stored = context.view.record(query.key);
        return hostedOutcome(stored ?? demoRecord(query.params, query.resource, query.version), false, now);
      }
      case 'open':
        return hostedOutcome(context.view.record(query.key), false, now);
      case 'private':
        return endingBy(access.until, hostedOutcome(context.view.record(query.key), true, now));
    }
  } catch {
    return STORAGE_FAILED;
  }
}

/** The outcome, valid no longer than the token that gave access. */
function endingBy(until: number, outcome: Outcome): Outcome {
  return outcome.kind === 'answer' || outcome.kind === 'empty'
    ? { ...outcome, until: Math.min(outcome.until, until) }
    : outcome;
}
