import { LIMITS, TIERS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import { badParameter, type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf, COUNT, resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { countApiKeys } from '../../store/api-keys.ts';
import { listNamespaces, type NamespaceRow } from '../../store/namespaces.ts';
import { sumDeletedUsage, sumUsage, sumUsageByDay } from '../../store/usage.ts';
import { countVersions } from '../../store/versions.ts';
import { listWebhooks } from '../../store/webhooks/webhooks.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { namespacesOf, withinReach } from '../webhooks/shapes.ts';

const DAY = 86_400_000;

/** Part of the allowance, in percent, from which on the state is `near`. */
const NEAR_PERCENT = 80;

const SOFT_CAP_STATES = ['within', 'near', 'over'] as const;

/** How much of its allowance a customer has used. For display: nothing is refused for it. */
interface SoftCapState {
  readonly state: (typeof SOFT_CAP_STATES)[number];
  readonly allowance: number;
  readonly used: number;
  /** One decimal, rounded down: 100 means that the whole allowance is used. */
  readonly percent: number;
}

function softCapState(used: number, allowance: number): SoftCapState {
  const percent = Math.floor((used * 1000) / allowance) / 10;
  const state = used > allowance ? 'over' : percent >= NEAR_PERCENT ? 'near' : 'within';
  return { state, allowance, used, percent };
}

/** A calendar month in UTC, milliseconds since the epoch: from `since` on, before `until`. */
interface Period {
  readonly since: number;
  readonly until: number;
}

function monthOf(now: number): Period {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { since: Date.UTC(year, month), until: Date.UTC(year, month + 1) };
}

export interface HasBilling {
  /** Whether usage shows how much of the allowance is used (UQRP_BILLING). */
  readonly billing: boolean;
}

interface Used {
  readonly used: number;
}

interface Limited extends Used {
  readonly limit: number;
}

/** Of one period of the write budget. */
interface WritesUse extends Limited {
  readonly resets_in: number;
}

export interface WritesResource {
  readonly minute: WritesUse;
  readonly hour: WritesUse;
}

interface DayUsage {
  readonly date: string;
  readonly count: number;
}

interface UsageOptions {
  readonly writes: WritesResource | null;
  readonly byDay: boolean;
}

export const USAGE_PARAMETERS = {
  by: { schema: { const: 'day' }, description: 'The reads of each day as well' },
} as const;

/** @throws AppError 400 */
export function readUsageQuery(query: QueryParameters): Pick<UsageOptions, 'byDay'> {
  const { by } = readParameters(query, Object.keys(USAGE_PARAMETERS));
  if (by !== undefined && by !== 'day') throw badParameter('by', 'is not day');
  return { byDay: by === 'day' };
}

interface Span {
  readonly since: string;
  readonly until: string;
}

type MeteredResource = UsageResource['metered'];

export type UsageResource = Awaited<ReturnType<typeof readUsage>>;

const TIER = { type: 'string', enum: Object.keys(TIERS) } as const;
const USED = resourceSchema<Used>('Used', { used: COUNT });
const LIMITED = resourceSchema<Limited>('UsedOfLimit', { used: COUNT, limit: COUNT });

const WRITES_USE = resourceSchema<WritesUse>('WritesUse', {
  used: COUNT,
  limit: COUNT,
  resets_in: { ...COUNT, description: 'Seconds until `used` is 0 again; 0: nothing is used' },
});

export const USAGE_SCHEMA = resourceSchema<UsageResource>('Usage', {
  tier: TIER,
  period: resourceSchema<Span>('Period', { since: TIME, until: TIME }),
  records: LIMITED,
  versions: LIMITED,
  namespaces: USED,
  api_keys: USED,
  webhooks: LIMITED,
  writes: {
    anyOf: [
      resourceSchema<WritesResource>('Writes', { minute: WRITES_USE, hour: WRITES_USE }),
      { type: 'null' },
    ],
    description:
      'The write budget of the account, over all credentials; null: writes are not limited in number',
  },
  metered: resourceSchema<MeteredResource>(
    'Metered',
    {
      since: TIME,
      until: { ...TIME, description: 'The time of the answer' },
      estimated: { const: true },
      total_authenticated_queries: {
        ...COUNT,
        description: 'Private reads answered with data, those of deleted namespaces included',
      },
      by_namespace: arrayOf(
        resourceSchema<MeteredResource['by_namespace'][number]>('NamespaceUsage', {
          name: { type: 'string', examples: ['acme'] },
          count: COUNT,
        }),
        { description: 'Most reads first; namespaces without reads are left out' },
      ),
      tier: TIER,
      tier_allowance: { ...COUNT, description: 'Of a month. Nothing is refused above it' },
      by_day: arrayOf(
        resourceSchema<DayUsage>('DayUsage', {
          date: { type: 'string', format: 'date', description: 'In UTC', examples: ['2026-01-01'] },
          count: COUNT,
        }),
        {
          maxItems: 31,
          description:
            'With `by=day`: each day of the month until now, days without reads too. Their sum is the total',
        },
      ),
      soft_cap_state: resourceSchema<SoftCapState>('SoftCapState', {
        state: { type: 'string', enum: SOFT_CAP_STATES, description: '`near` from 80 percent on' },
        allowance: COUNT,
        used: COUNT,
        percent: { type: 'number', minimum: 0, examples: [12.5] },
      }),
    },
    { by_day: true, soft_cap_state: true },
  ),
});

/**
 * What the customer uses, and has read in this calendar month (UTC). For an API key with an allowlist it counts only what the key
 * reaches; the number of API keys is the customer's.
 */
export async function readUsage(
  { store, clock, billing }: HasStore & HasClock & HasBilling,
  actor: Actor,
  { writes, byDay }: UsageOptions,
) {
  const { customerId, tier } = actor;
  const now = clock();
  const period = monthOf(now);
  const owned = await listNamespaces(store.read, customerId);
  const namespaces = owned.filter(({ name }) => reaches(actor, name));
  const webhooks = await listWebhooks(store.read, customerId);
  const { total, by_namespace } = await readMetered({ store }, actor, namespaces, period);
  const days = byDay ? await readDays({ store }, actor, namespaces, { ...period, until: now }) : null;
  const { allowance, records, webhooks: webhookQuota } = TIERS[tier];
  return {
    tier,
    period: spanOf(period),
    records: { used: namespaces.reduce((sum, row) => sum + row.records_count, 0), limit: records },
    versions: {
      used: await countVersions(
        store.read,
        namespaces.filter(({ history_id }) => history_id !== null).map(({ id }) => id),
      ),
      limit: records * LIMITS.versionsPerRecord,
    },
    namespaces: { used: namespaces.length },
    api_keys: { used: await countApiKeys(store.read, customerId) },
    webhooks: {
      used: webhooks.filter((row) => withinReach(actor, namespacesOf(row))).length,
      limit: webhookQuota,
    },
    writes,
    metered: {
      ...spanOf({ since: period.since, until: now }),
      estimated: true as const,
      total_authenticated_queries: total,
      by_namespace,
      tier,
      tier_allowance: allowance,
      ...(days !== null && { by_day: days }),
      ...(billing && { soft_cap_state: softCapState(total, allowance) }),
    },
  };
}

/** Reads of deleted namespaces count for credentials that reach all namespaces. */
async function readMetered(
  { store }: HasStore,
  actor: Actor,
  namespaces: readonly NamespaceRow[],
  period: Period,
) {
  const ids = namespaces.map(({ id }) => id);
  const { read: sums, deleted } = await besideDeletions(store, deletedOf(actor), ids, period, () =>
    sumUsage(store.read, ids, period),
  );
  const by_namespace = namespaces
    .map(({ id, name }) => ({ name, count: sums.get(id) ?? 0 }))
    .filter(({ count }) => count > 0)
    // The namespaces have the order of their names, which the stable sort keeps among equals.
    .sort((a, b) => b.count - a.count);
  return { by_namespace, total: by_namespace.reduce((sum, { count }) => sum + count, deleted) };
}

/** The customer whose deleted namespaces count; null: none. */
const deletedOf = (actor: Actor): string | null => (actor.namespaces === null ? actor.customerId : null);

/** Reads while namespaces are deleted: each moves its sums a few times. */
const READS_MAX = 10;

/**
 * A deletion moves what its namespace has counted to the sums of deleted ones. What is read on both sides of that would count twice, so it is read
 * again. @param of see `deletedOf` @returns with the answers of deleted namespaces
 */
async function besideDeletions<T>(
  { read: db }: HasStore['store'],
  of: string | null,
  ids: readonly string[],
  period: Period,
  sum: () => Promise<T>,
): Promise<{ read: T; deleted: number }> {
  const sumDeleted = async (): Promise<number> =>
    of === null ? 0 : await sumDeletedUsage(db, of, ids, period);
  for (let reads = 1; ; reads++) {
    const before = await sumDeleted();
    const read = await sum();
    const deleted = await sumDeleted();
    if (deleted === before || reads === READS_MAX) return { read, deleted };
  }
}

/** @param period ends in the day that is the last */
async function readDays(
  { store }: HasStore,
  actor: Actor,
  namespaces: readonly NamespaceRow[],
  { since, until }: Period,
): Promise<DayUsage[]> {
  const counts = new Array<number>(Math.floor((until - since) / DAY) + 1).fill(0);
  const ids = namespaces.map(({ id }) => id);
  const period = { since, until: since + counts.length * DAY };
  const of = deletedOf(actor);
  const { read: days } = await besideDeletions(store, of, ids, period, () =>
    sumUsageByDay(store.read, ids, of, period),
  );
  for (const { day, answers } of days) counts[day]! += answers;
  return counts.map((count, day) => ({ date: formatTime(since + day * DAY).slice(0, 10), count }));
}

function spanOf({ since, until }: Period): Span {
  return { since: formatTime(since), until: formatTime(until) };
}
