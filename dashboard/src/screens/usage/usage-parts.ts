import type { DeliveryResource, Meta, Usage } from '../../../../sdk/src/uqrp-sdk.ts';

/** A bar of the list of namespaces. */
export interface NamespaceBar {
  readonly name: string;
  readonly count: number;
  /** Of the longest bar. */
  readonly share: number;
}

export function namespaceBars({
  by_namespace: all,
}: Pick<Usage['metered'], 'by_namespace'>): readonly NamespaceBar[] {
  const most = Math.max(1, ...all.map(({ count }) => count));
  return all.map(({ name, count }) => ({ name, count, share: count / most }));
}

/** Reads of namespaces that were deleted: they are in the total alone. */
export function deletedReads({
  by_namespace: all,
  total_authenticated_queries: total,
}: Usage['metered']): number {
  return Math.max(0, total - all.reduce((sum, { count }) => sum + count, 0));
}

export interface TierRow {
  readonly name: string;
  readonly records: number;
  readonly webhooks: number;
  readonly allowance: number;
  readonly isOwn: boolean;
}

/** Tiers from the smallest, with the present one marked. */
export function tierRows(tiers: Meta['tiers'], own: string): readonly TierRow[] {
  return Object.entries(tiers)
    .map(([name, limits]) => ({ name, ...limits, isOwn: name === own }))
    .toSorted((a, b) => a.records - b.records);
}

export type LimitName = 'records' | 'webhooks' | 'reads' | 'writesMinute' | 'writesHour';

/** What is limited in number. */
export interface LimitUse {
  readonly name: LimitName;
  readonly used: number;
  readonly limit: number;
  /** Seconds until nothing is used any more. */
  readonly resetsIn?: number;
}

/** A tier without webhooks has no limit of them. */
export function limitsOf({ records, webhooks, metered, writes }: Usage): readonly LimitUse[] {
  const reads = { used: metered.total_authenticated_queries, limit: metered.tier_allowance };
  const budgets =
    writes === null
      ? []
      : (['minute', 'hour'] as const).map((period) => {
          const { used, limit, resets_in: resetsIn } = writes[period];
          return {
            name: period === 'minute' ? 'writesMinute' : 'writesHour',
            used,
            limit,
            resetsIn,
          } as const;
        });
  return [
    { name: 'records', ...records } as const,
    { name: 'webhooks', ...webhooks } as const,
    { name: 'reads', ...reads } as const,
    ...budgets,
  ].filter(({ limit }) => limit > 0);
}

const HOUR_MS = 3_600_000;

/** Deliveries that were tried in the last hour, and whether there may be more than were read. */
export interface HourCount {
  readonly count: number;
  readonly isAtLeast: boolean;
}

/**
 * Counts over the newest deliveries. A retry of an older one may be missing, so it is an estimate.
 * @param hasMore whether the history has more than these
 */
export function triedWithinHour(
  deliveries: readonly DeliveryResource[],
  hasMore: boolean,
  now: number,
): HourCount {
  const since = now - HOUR_MS;
  const tried = deliveries.filter(
    ({ event, last_attempt_at: last }) =>
      event !== 'webhook.test' && last !== null && Date.parse(last) > since,
  );
  const oldest = deliveries.at(-1);
  const reachesBack = oldest !== undefined && Date.parse(oldest.created_at) <= since;
  return { count: tried.length, isAtLeast: hasMore && !reachesBack };
}

/** `42 s`, `12 min`: how long until a budget is whole again. */
export function resetParts(seconds: number): { value: number; unit: 'seconds' | 'minutes' } {
  return seconds <= 90
    ? { value: seconds, unit: 'seconds' }
    : { value: Math.ceil(seconds / 60), unit: 'minutes' };
}
