import { LIMITS } from '../../base/limits.ts';
import type { Outcome } from '../../protocol/query/outcome.ts';
import type { Query } from '../../protocol/query/query.ts';
import type { HostedView } from '../../view/hosted/view.ts';
import { answerPublic, type Services } from './operations/operations.ts';
import { type Access, type AccessSettings, checkAccess } from './records/access.ts';
import { demoRecord } from './records/demo-records.ts';
import { type HostedReading, hostedOutcome } from './records/hosted-outcome.ts';

export interface ResolveContext {
  readonly view: HostedView;
  readonly access: AccessSettings;
  readonly services: Services;
}

/** What a query gets, and how it was allowed to read. */
export interface Resolved {
  /** Null when the view could not be read. */
  readonly access: Access | null;
  readonly outcome: Outcome | Promise<Outcome>;
}

const STORAGE_FAILED: Resolved = { access: null, outcome: { kind: 'failed', cause: 'storage' } };

/**
 * Checks access, then asks the service or reads the record. Never throws or rejects: an unreadable view is a failed
 * outcome. `now` in milliseconds since the epoch; `zone` without a trailing dot, for texts of services.
 */
export function resolve(query: Query, context: ResolveContext, now: number, zone: string): Resolved {
  try {
    const access = checkAccess(query, context.view, context.access, now);
    return { access, outcome: outcomeOf(access, query, context, now, zone) };
  } catch {
    return STORAGE_FAILED;
  }
}

function outcomeOf(
  access: Access,
  query: Query,
  { view, services }: ResolveContext,
  now: number,
  zone: string,
): Outcome | Promise<Outcome> {
  switch (access.kind) {
    case 'refused':
      return { kind: 'refused', until: access.until };
    case 'public':
      return answerPublic(query, services, now, zone);
    case 'demo': {
      const stored = view.record(query.key);
      return hostedOutcome(stored ?? demoRecord(query.params, query.resource, query.version), OF_DEMO, now);
    }
    case 'open':
      return hostedOutcome(view.record(query.key), readingOf(access, query, view, now), now);
    case 'private':
      return endingBy(
        access.until,
        hostedOutcome(view.record(query.key), readingOf(access, query, view, now), now),
      );
  }
}

const OF_DEMO: HostedReading = { maxTtl: () => LIMITS.openTtlDefault, hasExpired: () => false };

function readingOf(
  { kind, namespaceId }: Extract<Access, { kind: 'open' | 'private' }>,
  { key, namespace }: Query,
  view: HostedView,
  now: number,
): HostedReading {
  return {
    maxTtl: () => (kind === 'open' ? view.maxTtl(namespace) : 0),
    hasExpired: () => view.hasExpired(key, namespaceId, now),
  };
}

/** The outcome, valid no longer than the token that gave access. */
function endingBy(until: number, outcome: Outcome): Outcome {
  return outcome.kind === 'answer' || outcome.kind === 'empty'
    ? { ...outcome, until: Math.min(outcome.until, until) }
    : outcome;
}
