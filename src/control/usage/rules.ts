import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS, TIERS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import { badParameter, type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf, COUNT, resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { countApiKeys } from '../../store/api-keys.ts';
import { listNamespaces, type NamespaceRow } from '../../store/namespaces.ts';
import { sumDeletedUsage, sumUsage } from '../../store/usage.ts';
import { countVersions } from '../../store/versions.ts';
import { listWebhooks } from '../../store/webhooks/webhooks.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { epochTag, type Position, type Positions } from '../unit.ts';
import { namespacesOf, withinReach } from '../webhooks/shapes.ts';

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

interface Span {
  readonly since: string;
  readonly until: string;
}

type MeteredResource = UsageResource['metered'];

type UsageResource = Awaited<ReturnType<typeof readUsage>>;

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
      soft_cap_state: resourceSchema<SoftCapState>('SoftCapState', {
        state: { type: 'string', enum: SOFT_CAP_STATES, description: '`near` from 80 percent on' },
        allowance: COUNT,
        used: COUNT,
        percent: { type: 'number', minimum: 0, examples: [12.5] },
      }),
    },
    { soft_cap_state: true },
  ),
});

/**
 * What the customer uses, and has read in this calendar month (UTC). For an API key with an allowlist it counts only what the key
 * reaches; the number of API keys is the customer's.
 */
export async function readUsage(
  { store, clock, billing }: HasStore & HasClock & HasBilling,
  actor: Actor,
  writes: WritesResource | null,
) {
  const { customerId, tier } = actor;
  const now = clock();
  const period = monthOf(now);
  const owned = await listNamespaces(store.read, customerId);
  const namespaces = owned.filter(({ name }) => reaches(actor, name));
  const webhooks = await listWebhooks(store.read, customerId);
  const { total, by_namespace } = await readMetered({ store }, actor, namespaces, period);
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
  const sums = await sumUsage(store.read, ids, period);
  const deleted = actor.namespaces === null ? await sumDeletedUsage(store.read, actor.customerId, period) : 0;
  const by_namespace = namespaces
    .map(({ id, name }) => ({ name, count: sums.get(id) ?? 0 }))
    .filter(({ count }) => count > 0)
    // The namespaces have the order of their names, which the stable sort keeps among equals.
    .sort((a, b) => b.count - a.count);
  return { by_namespace, total: by_namespace.reduce((sum, { count }) => sum + count, deleted) };
}

function spanOf({ since, until }: Period): Span {
  return { since: formatTime(since), until: formatTime(until) };
}

/** How far one node is. */
export interface NodeProgress {
  readonly name: string;
  /** Last change in its view, and the database that the view is of; null: not known. */
  readonly seq: number | null;
  readonly epoch: string | null;
  /** It has not been heard of for 15 seconds. */
  readonly isLate: boolean;
  /** When its view got a change, milliseconds since the epoch; null: not known. */
  appliedAt(seq: number): number | null;
}

export interface HasNodes {
  /** The edge in this process, and the nodes of the feed as far as this process hears of them. */
  readonly nodes: () => readonly NodeProgress[];
  readonly positions: Positions;
}

type PropagationResource = Awaited<ReturnType<typeof readPropagation>>;

export const PROPAGATION_SCHEMA = resourceSchema<PropagationResource>('Propagation', {
  applied: { type: 'boolean', description: 'Whether every node that is not late has the write' },
  nodes: arrayOf(
    resourceSchema<PropagationResource['nodes'][number]>('NodePropagation', {
      name: { type: 'string', examples: ['fra1'] },
      applied: { type: 'boolean', description: 'Whether its answers show the write' },
      ms: {
        type: ['integer', 'null'],
        minimum: 0,
        description: 'From the begin of the write until the node had it; null: not known',
        examples: [31],
      },
      late: { type: 'boolean', description: 'The node has not told how it is for 15 seconds' },
    }),
    { description: 'Empty: no node is known to this process' },
  ),
});

export const PROPAGATION_PARAMETERS = {
  seq: {
    schema: { type: 'string', examples: ['AW9wYXF1ZQ'] },
    description: 'Value of `X-Service-Seq` in the answer to a write, or a cursor of `GET /changes`',
    required: true,
  },
  wait: {
    schema: { type: 'integer', minimum: 0, maximum: LIMITS.propagationWaitS, default: 0 },
    description: 'Seconds to wait until every node that is not late has the write',
  },
} as const;

interface PropagationQuery {
  readonly position: Position;
  /** Milliseconds. */
  readonly waitMs: number;
}

/** @throws AppError 400 for anything but a position of this customer */
export function propagationQuery(
  positions: Positions,
  { customerId }: Actor,
  query: QueryParameters,
): PropagationQuery {
  const { seq: text, wait = '0' } = readParameters(query, Object.keys(PROPAGATION_PARAMETERS));
  if (text === undefined) throw badParameter('seq', 'is required');
  const position = positions.read(customerId, text);
  if (position === null) throw badParameter('seq', 'is not a value of X-Service-Seq of this account');
  const seconds = /^[0-9]{1,2}$/.test(wait) ? Number(wait) : Number.NaN;
  if (!(seconds <= LIMITS.propagationWaitS)) {
    throw badParameter('wait', `is not a number from 0 to ${LIMITS.propagationWaitS}`);
  }
  return { position, waitMs: seconds * 1000 };
}

/** Where a write is now. */
export async function readPropagation({ store, nodes }: HasStore & HasNodes, position: Position) {
  const { epoch } = await store.changes.bounds();
  const isOther = position.epoch !== '' && position.epoch !== epochTag(epoch);
  const all = nodes().map((node) => {
    const applied = !isOther && node.epoch === epoch && node.seq !== null && node.seq >= position.seq;
    const at = applied ? node.appliedAt(position.seq) : null;
    return {
      name: node.name,
      applied,
      ms: at === null ? null : Math.max(0, at - position.at),
      late: node.isLate,
    };
  });
  const heard = all.filter(({ late }) => !late);
  return { applied: heard.length > 0 && heard.every(({ applied }) => applied), nodes: all };
}

/** Milliseconds between two looks at the nodes, which is all in memory. */
const LOOK_MS = 50;

/** Resolves when every node that is not late has the write, or the signal aborts. */
export async function untilApplied(
  { nodes }: HasNodes,
  { seq }: Position,
  timers: Timers,
  signal: AbortSignal,
): Promise<void> {
  const isApplied = (): boolean => {
    const heard = nodes().filter(({ isLate }) => !isLate);
    return heard.length > 0 && heard.every((node) => node.seq !== null && node.seq >= seq);
  };
  while (!signal.aborted && !isApplied()) {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = timers.after(LOOK_MS, done);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}
