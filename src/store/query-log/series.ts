import { LIMITS } from '../../base/limits.ts';
import { listParameter, listStatement, rowInsert, statement } from '../engine/statement.ts';
import type { Tx } from '../store.ts';
import type { SeriesStatus, SplitKind } from './tables.ts';

/** The series of the rows that nodes dropped: it has counts and no blocks. */
export const DROPPED = 'dropped';

/** The value of a split that has what no other one has. No label, transport or name of a node is written so. */
export const OTHER_VALUES = '*';

/** Series and splits of namespaces: all of the first, and those of the second that have one of the values. */
const FIND_COUNTED = listStatement<
  { ids: readonly string[]; values: unknown },
  { id: number; namespace_id: string; kind: SeriesStatus | SplitKind; value: string }
>(
  `select id, namespace_id, status as kind, '' as value from query_log_series where namespace_id in (:ids)
  union all select id, namespace_id, kind, value from query_log_splits
  where namespace_id in (:ids) and value in (select value from json_each(:values))`,
  'text',
  {
    postgres: `select id, namespace_id, status as kind, '' as value from query_log_series where namespace_id in (:ids)
    union all select id, namespace_id, kind, value from query_log_splits
    where namespace_id in (:ids) and value = any(cast(:values as text[]))`,
  },
);

const COUNT_SPLITS = listStatement<
  { ids: readonly string[] },
  { customer_id: string; namespace_id: string; kind: SplitKind; total: number }
>(
  `select n.customer_id, s.namespace_id, s.kind, count(*) as total from namespaces n
  join query_log_splits s on s.namespace_id = n.id
  where n.customer_id in (:ids) and s.value <> '${OTHER_VALUES}' group by n.customer_id, s.namespace_id, s.kind`,
  'text',
);

const SET_LAST_SERIES = statement<{ last: number }>(
  'update query_log_head set last_series = :last where id = 1',
);

const insertSeries = rowInsert('query_log_series', { id: 'bigint', namespace_id: 'text', status: 'text' });
const insertSplits = rowInsert('query_log_splits', {
  id: 'bigint',
  namespace_id: 'text',
  kind: 'text',
  value: 'text',
});

export interface SeriesKey {
  readonly namespaceId: string;
  readonly status: SeriesStatus;
}

export interface SplitKey {
  readonly namespaceId: string;
  readonly kind: SplitKind;
  readonly value: string;
}

interface Asked {
  readonly series: readonly SeriesKey[];
  readonly splits: readonly SplitKey[];
  /** Namespaces of both, and the customer of each. */
  readonly customers: ReadonlyMap<string, string>;
  /** Id of the last series or split. */
  readonly last: number;
}

/** Where a batch is counted. */
interface CountIds {
  series(key: SeriesKey): number;
  split(key: SplitKey): number;
}

/** The ids of series and splits; those that are missing are made. The unit holds the head. */
export async function findCounted(tx: Tx, { series, splits, customers, last }: Asked): Promise<CountIds> {
  const known = new Map<string, number>();
  const values = new Set([OTHER_VALUES, ...splits.map(({ value }) => value)]);
  const ids = [...customers.keys()];
  const found = await FIND_COUNTED.all(tx, { ids, values: listParameter(tx, [...values]) });
  for (const { id, namespace_id, kind, value } of found) known.set(`${namespace_id} ${kind} ${value}`, id);
  let next = last;
  const idOf = (namespaceId: string, kind: SeriesStatus | SplitKind, value: string): number =>
    known.get(`${namespaceId} ${kind} ${value}`)!;
  /** @returns whether it is new */
  const make = (namespaceId: string, kind: SeriesStatus | SplitKind, value: string): boolean => {
    const key = `${namespaceId} ${kind} ${value}`;
    if (known.has(key)) return false;
    next++;
    known.set(key, next);
    return true;
  };
  const newSeries: [id: number, namespaceId: string, status: SeriesStatus][] = [];
  for (const { namespaceId, status } of series) {
    if (make(namespaceId, status, '')) newSeries.push([next, namespaceId, status]);
  }
  const newSplits: [id: number, namespaceId: string, kind: SplitKind, value: string][] = [];
  const missing = splits.filter(
    ({ namespaceId, kind, value }) => !known.has(`${namespaceId} ${kind} ${value}`),
  );
  if (missing.length > 0) {
    const hasRoom = await roomForSplits(tx, customers, missing);
    for (const key of missing) {
      const { namespaceId, kind } = key;
      const value = hasRoom(key) ? key.value : OTHER_VALUES;
      if (make(namespaceId, kind, value)) newSplits.push([next, namespaceId, kind, value]);
    }
  }
  await insertSeries(tx, newSeries);
  await insertSplits(tx, newSplits);
  if (next > last) await SET_LAST_SERIES.run(tx, { last: next });
  return {
    series: ({ namespaceId, status }) => idOf(namespaceId, status, ''),
    split: ({ namespaceId, kind, value }) =>
      idOf(namespaceId, kind, value) ?? idOf(namespaceId, kind, OTHER_VALUES),
  };
}

/** @returns takes a place for a split; false: its namespace or its customer has as many as may be */
async function roomForSplits(
  tx: Tx,
  customers: ReadonlyMap<string, string>,
  missing: readonly SplitKey[],
): Promise<(key: SplitKey) => boolean> {
  const asked = new Set(missing.map(({ namespaceId }) => customers.get(namespaceId)!));
  const used = new Map<string, number>();
  const add = (key: string, more: number): number => {
    const total = (used.get(key) ?? 0) + more;
    used.set(key, total);
    return total;
  };
  for (const { customer_id, namespace_id, kind, total } of await COUNT_SPLITS.all(tx, { ids: [...asked] })) {
    add(`${namespace_id} ${kind}`, total);
    if (kind === 'resource') add(customer_id, total);
  }
  return ({ namespaceId, kind }) => {
    const customer = customers.get(namespaceId)!;
    const isFull =
      add(`${namespaceId} ${kind}`, 0) >= LIMITS.queryLogSplits ||
      (kind === 'resource' && add(customer, 0) >= LIMITS.queryLogResources);
    if (isFull) return false;
    add(`${namespaceId} ${kind}`, 1);
    if (kind === 'resource') add(customer, 1);
    return true;
  };
}
