/** How many queries there were, in steps of time: `GET /query_logs/counts`. */
import { AppError } from '../../base/errors.ts';
import type { Turns } from '../../base/lifecycle/turns.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatTime } from '../../base/time.ts';
import { type Actor, reaches } from '../../http/actor.ts';
import { badParameter, type QueryParameters, readParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf, COUNT, resourceSchema, TIME } from '../../protocol/input/schema.ts';
import { QUERY_STATUSES, type QueryStatus } from '../../protocol/query/outcome.ts';
import { listNamespaces, type NamespaceRow } from '../../store/namespaces.ts';
import { HOUR, MINUTE } from '../../store/query-log/counts.ts';
import {
  COUNT_GROUPS,
  type CountGroup,
  countedNamespaces,
  countSteps,
  type StepOptions,
} from '../../store/query-log/hours.ts';
import { OTHER_VALUES } from '../../store/query-log/series.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { rowFilter, STREAM_PARAMETERS } from './listing-query.ts';

const DAY = 24 * HOUR;
const RETRY_SECONDS = 5;

/** Milliseconds. */
const STEPS = { '10m': 10 * MINUTE, '1h': HOUR, '6h': 6 * HOUR, '1d': DAY } as const;
type Step = keyof typeof STEPS;

interface Window {
  readonly ms: number;
  /** The first is the usual one. Each makes at most `queryLogPoints`. */
  readonly steps: readonly [Step, ...Step[]];
  /** Whether hours are kept for twice as long, so that there is a time before to compare with. */
  readonly hasBefore: boolean;
}

export const COUNT_WINDOWS = {
  '24h': { ms: DAY, steps: ['1h', '10m'], hasBefore: true },
  '7d': { ms: 7 * DAY, steps: ['6h', '1h', '1d'], hasBefore: true },
  '30d': { ms: LIMITS.queryLogDays * DAY, steps: ['1d', '6h'], hasBefore: false },
} as const satisfies Readonly<Record<string, Window>>;
export type CountWindow = keyof typeof COUNT_WINDOWS;
const WINDOW_NAMES = Object.keys(COUNT_WINDOWS) as CountWindow[];

export const WINDOW_PARAMETER = {
  schema: { enum: WINDOW_NAMES, default: '24h' },
  description: 'The time that the steps cover, up to now',
} as const;

export const COUNT_PARAMETERS = {
  window: WINDOW_PARAMETER,
  step: {
    schema: { enum: Object.keys(STEPS) },
    description:
      '`24h` has `1h` and `10m`, `7d` has `6h`, `1h` and `1d`, `30d` has `1d` and `6h`; the first is the usual one. `10m` only by status or namespace',
  },
  group: {
    schema: { enum: COUNT_GROUPS, default: 'status' },
    description: 'What the queries are counted by',
  },
  ...STREAM_PARAMETERS,
} as const;

/** The full hours of the window, and as many before them. */
interface Trend {
  readonly total: number;
  readonly before: number;
}

interface CountedGroup {
  /** Null: all others together. */
  readonly key: string | null;
  readonly total: number;
  readonly trend: Trend | null;
  readonly counts: readonly number[];
}

export interface QueryCounts {
  readonly window: CountWindow;
  readonly step: Step;
  readonly step_seconds: number;
  readonly group: CountGroup;
  readonly since: string;
  readonly until: string;
  readonly total: number;
  readonly dropped: number;
  readonly groups: readonly CountedGroup[];
}

export const COUNTS_SCHEMA = resourceSchema<QueryCounts>('QueryCounts', {
  window: { type: 'string', enum: WINDOW_NAMES },
  step: { type: 'string', enum: Object.keys(STEPS) },
  step_seconds: { type: 'integer', examples: [3600] },
  group: { type: 'string', enum: COUNT_GROUPS },
  since: { ...TIME, description: 'Where the first step begins; steps are whole in UTC' },
  until: { ...TIME, description: 'The time of the answer, within the last step' },
  total: { ...COUNT, description: 'The sum of all groups' },
  dropped: {
    ...COUNT,
    description: 'Queries whose rows an overloaded node did not keep: they are in no group',
  },
  groups: arrayOf(
    resourceSchema<CountedGroup>('QueryCountGroup', {
      key: {
        type: ['string', 'null'],
        description: 'A status, namespace, resource, transport or node; null: all others together',
        examples: ['hit'],
      },
      total: COUNT,
      trend: {
        anyOf: [
          resourceSchema<Trend>('QueryCountTrend', {
            total: {
              ...COUNT,
              description: 'In as many full hours as the window has, up to the present one',
            },
            before: { ...COUNT, description: 'In as many hours before those' },
          }),
          { type: 'null' },
        ],
        description: 'null: hours are not kept for twice the window',
      },
      counts: arrayOf(COUNT, {
        maxItems: LIMITS.queryLogPoints,
        description: 'One for each step, zeros too',
      }),
    }),
    {
      maxItems: LIMITS.queryLogGroups + 1,
      description: 'Every status, in a fixed order; of the others those with most queries, and the rest',
    },
  ),
});

interface CountsQuery {
  readonly window: CountWindow;
  readonly step: Step;
  readonly group: CountGroup;
  readonly namespace: string | null;
  readonly status: QueryStatus | null;
}

/** @throws AppError 400 */
export function parseCounts(query: QueryParameters): CountsQuery {
  const values = readParameters(query, Object.keys(COUNT_PARAMETERS));
  const window = readWindow(values.window);
  const { steps } = COUNT_WINDOWS[window];
  const step = values.step === undefined ? steps[0] : steps.find((one) => one === values.step);
  if (step === undefined) throw badParameter('step', `is not one of ${steps.join(', ')}`);
  const group = COUNT_GROUPS.find((one) => one === (values.group ?? 'status'));
  if (group === undefined) throw badParameter('group', `is not one of ${COUNT_GROUPS.join(', ')}`);
  const filter = rowFilter(values);
  const isSeries = group === 'status' || group === 'namespace';
  if (!isSeries && STEPS[step] < HOUR) throw badParameter('step', 'is for groups of status or namespace');
  if (!isSeries && filter.status !== null)
    throw badParameter('status', 'is for groups of status or namespace');
  return { window, step, group, ...filter };
}

/** @throws AppError 400 */
export function readWindow(text: string | undefined): CountWindow {
  const window = WINDOW_NAMES.find((one) => one === (text ?? '24h'));
  if (window === undefined) throw badParameter('window', `is not one of ${WINDOW_NAMES.join(', ')}`);
  return window;
}

/** Reads of counts take tens of milliseconds where there is much to add up: they begin in turns by person. */
export interface HasCountTurns {
  readonly countTurns: Turns;
}

/** What the credential reaches. @throws AppError 429 when too many wait */
export async function readQueryCounts(
  deps: HasStore & HasClock & HasCountTurns,
  actor: Actor,
  asked: CountsQuery,
): Promise<QueryCounts> {
  const counts = await deps.countTurns.run(actor.personId, () => addUp(deps, actor, asked));
  if (counts === null)
    throw new AppError('rate_limit_exceeded', 'Too many counts are being read', {
      retryAfter: RETRY_SECONDS,
    });
  return counts;
}

async function addUp(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  asked: CountsQuery,
): Promise<QueryCounts> {
  const { window, step, group, namespace, status } = asked;
  const now = clock();
  const owned = await listNamespaces(store.read, actor.customerId);
  const namespaces = owned.filter(
    ({ name }) => reaches(actor, name) && (namespace === null || name === namespace),
  );
  const ids = await countedNamespaces(
    store.read,
    namespaces.map(({ id }) => id),
  );
  const { ms, hasBefore } = COUNT_WINDOWS[window];
  const stepMs = STEPS[step];
  const until = (Math.floor(now / stepMs) + 1) * stepMs;
  const places = ms / stepMs;
  const steps = {
    group,
    status,
    span: stepMs < HOUR ? MINUTE : HOUR,
    interval: { since: until - ms, until },
    step: stepMs,
  } as const;
  const counts = sumsOf(await countSteps(store.read, ids, steps), places);
  const hour = Math.floor(now / HOUR) * HOUR;
  const twice = { ...steps, span: HOUR, interval: { since: hour - 2 * ms, until: hour }, step: ms } as const;
  const trends = hasBefore ? sumsOf(await countSteps(store.read, ids, twice), 2) : null;
  const [dropped = []] = sumsOf(
    await countSteps(store.read, ids, { ...steps, group: 'dropped', status: null }),
    places,
  ).values();
  const groups = groupsOf(counts, trends, { places, fixed: fixedKeys(asked) });
  return {
    window,
    step,
    step_seconds: stepMs / 1000,
    group,
    since: formatTime(until - ms),
    until: formatTime(now),
    total: sum(groups.map(({ total }) => total)),
    dropped: sum(dropped),
    groups: named(groups, group, namespaces),
  };
}

/** Groups that are there without a query too, in their order. */
function fixedKeys({ group, status }: CountsQuery): readonly string[] {
  if (group !== 'status') return [];
  return status === null ? QUERY_STATUSES : [status];
}

type Sums = ReadonlyMap<string, readonly number[]>;

function sumsOf(counts: Awaited<ReturnType<typeof countSteps>>, places: number): Sums {
  const sums = new Map<string, number[]>();
  for (const { key, place, total } of counts) {
    let own = sums.get(key);
    if (own === undefined) {
      own = new Array<number>(places).fill(0);
      sums.set(key, own);
    }
    own[place]! += total;
  }
  return sums;
}

interface Shape {
  readonly places: number;
  readonly fixed: readonly string[];
}

/** The fixed groups, or those with most queries and the rest together. */
function groupsOf(counts: Sums, trends: Sums | null, { places, fixed }: Shape): CountedGroup[] {
  const made = (key: string | null, keys: readonly string[]): CountedGroup => {
    const steps = added(counts, keys, places);
    const [before = 0, total = 0] = trends === null ? [] : added(trends, keys, 2);
    return { key, total: sum(steps), trend: trends === null ? null : { total, before }, counts: steps };
  };
  if (fixed.length > 0) return fixed.map((key) => made(key, [key]));
  const keys = [...new Set([...counts.keys(), ...(trends?.keys() ?? [])])];
  const most = keys
    .filter((key) => key !== OTHER_VALUES && counts.has(key))
    .map((key) => ({ key, total: sum(counts.get(key)!) }))
    .sort((a, b) => b.total - a.total || (a.key < b.key ? -1 : 1))
    .slice(0, LIMITS.queryLogGroups)
    .map(({ key }) => key);
  const shown = new Set(most);
  const rest = keys.filter((key) => !shown.has(key));
  return [...most.map((key) => made(key, [key])), ...(rest.length === 0 ? [] : [made(null, rest)])];
}

function added(sums: Sums, keys: readonly string[], places: number): number[] {
  const all = new Array<number>(places).fill(0);
  for (const key of keys) for (const [place, count] of (sums.get(key) ?? []).entries()) all[place]! += count;
  return all;
}

/** Counts of namespaces are kept by id. */
function named(
  groups: readonly CountedGroup[],
  group: StepOptions['group'],
  namespaces: readonly NamespaceRow[],
): readonly CountedGroup[] {
  if (group !== 'namespace') return groups;
  const names = new Map(namespaces.map(({ id, name }) => [id, name]));
  return groups.map((one) => ({ ...one, key: one.key === null ? null : (names.get(one.key) ?? null) }));
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
