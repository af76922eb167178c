import type { DeliveryResource, Meta, Usage } from '../../../../sdk/src/uqrp-sdk.ts';
import { t } from '../../text/text.ts';
import type { ChartData } from '../../ui/chart-shapes.ts';

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

const DAY_S = 86_400;
/** A line that is further above the longest bar would leave nothing of the bars. */
const LEVEL_MAX = 4;

/** The reads of each day of the month, and the number a day that uses the whole allowance. */
export interface MonthOfReads {
  readonly chart: ChartData;
  readonly evenShare: number;
}

/** @param usage with its days */
export function monthOfReads({ period, metered }: Pick<Usage, 'period' | 'metered'>): MonthOfReads {
  const first = Date.parse(period.since) / 1000;
  const length = Math.round((Date.parse(period.until) / 1000 - first) / DAY_S);
  const counts = (metered.by_day ?? []).map(({ count }) => count);
  const evenShare = metered.tier_allowance / length;
  const isNear = evenShare <= LEVEL_MAX * Math.max(1, ...counts);
  const values = Array.from({ length }, (_, day) => counts[day] ?? 0);
  return {
    evenShare,
    chart: {
      times: values.map((_, day) => first + day * DAY_S),
      series: [{ name: t('usage.readsShort'), tone: 'info', values }],
      isStacked: true,
      ...(isNear ? { level: evenShare } : {}),
    },
  };
}

/** Part of the allowance that the month will have used if it goes on as until now; null: less than a day of it is over. */
export function paceOf({ period, metered }: Pick<Usage, 'period' | 'metered'>): number | null {
  const [since, until, now] = [period.since, period.until, metered.until].map(
    (time) => Date.parse(time) / 1000,
  );
  if (now! - since! < DAY_S) return null;
  const whole = metered.total_authenticated_queries * ((until! - since!) / (now! - since!));
  return whole / metered.tier_allowance;
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
