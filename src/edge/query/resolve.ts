import { DATASETS_RESOURCE } from '../../core/names/labels.ts';
import { FOREVER, type Outcome } from '../../core/query/outcome.ts';
import type { Query } from '../../core/query/query.ts';
import type { HostedView } from '../hosted/view.ts';
import type { PublicService } from './operations/public-service.ts';
import { type GateSettings, judge } from './records/access.ts';
import { demoRecord } from './records/demo-records.ts';
import { hostedOutcome } from './records/hosted-outcome.ts';

export interface ResolveContext {
  readonly view: HostedView;
  readonly gate: GateSettings;
  /** By resource label. */
  readonly services: ReadonlyMap<string, PublicService>;
}

const MISSING: Outcome = { kind: 'empty', reason: 'missing', until: FOREVER };
const REFUSED: Outcome = { kind: 'refused', until: FOREVER };
const STORAGE_FAILED: Outcome = { kind: 'failed', cause: 'storage' };
const INFO_OF_PARAMS: Outcome = { kind: 'malformed', code: 'E005' };
const INTERNAL: Outcome = { kind: 'failed', cause: 'internal' };

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
        return servicesAnswer(query, context.services, now, zone);
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

function servicesAnswer(
  query: Query,
  services: ReadonlyMap<string, PublicService>,
  now: number,
  zone: string,
): Outcome | Promise<Outcome> {
  // `geoip` names its argument where other operations name their service.
  const service = services.get(query.operation === 'geoip' ? 'geoip' : query.resource);
  if (service === undefined) return query.resource === DATASETS_RESOURCE ? REFUSED : MISSING;
  if (query.version !== 'v1') return MISSING;
  if (query.operation === 'info') return query.params.length === 0 ? service.info(zone) : INFO_OF_PARAMS;
  try {
    const outcome = service.answer(query, now, zone);
    return outcome instanceof Promise ? outcome.catch(() => INTERNAL) : outcome;
  } catch {
    return INTERNAL;
  }
}

/** The outcome, but true no longer than the token that opened it. */
function endingBy(until: number, outcome: Outcome): Outcome {
  return outcome.kind === 'answer' || outcome.kind === 'empty'
    ? { ...outcome, until: Math.min(outcome.until, until) }
    : outcome;
}
