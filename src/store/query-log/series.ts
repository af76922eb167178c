import { listStatement, rowInsert, statement } from '../engine/statement.ts';
import type { Tx } from '../store.ts';
import type { SeriesStatus } from './tables.ts';

/** The series of the rows that nodes dropped: it has counts and no blocks. */
export const DROPPED = 'dropped';

const FIND_SERIES = listStatement<
  { ids: readonly string[] },
  { id: number; namespace_id: string; status: SeriesStatus }
>('select id, namespace_id, status from query_log_series where namespace_id in (:ids)', 'text');

const SET_LAST_SERIES = statement<{ last: number }>(
  'update query_log_head set last_series = :last where id = 1',
);

const insertSeries = rowInsert('query_log_series', { id: 'bigint', namespace_id: 'text', status: 'text' });

export interface SeriesKey {
  readonly namespaceId: string;
  readonly status: SeriesStatus;
}

/**
 * The series of each key; those that are missing are made. The unit holds the head.
 * @param last id of the last series
 */
export async function findSeries(
  tx: Tx,
  keys: readonly SeriesKey[],
  namespaceIds: readonly string[],
  last: number,
): Promise<(key: SeriesKey) => number> {
  const known = new Map<string, number>();
  const found = await FIND_SERIES.all(tx, { ids: namespaceIds });
  for (const { id, namespace_id, status } of found) known.set(`${namespace_id} ${status}`, id);
  const made: [id: number, namespaceId: string, status: SeriesStatus][] = [];
  for (const { namespaceId, status } of keys) {
    const key = `${namespaceId} ${status}`;
    if (known.has(key)) continue;
    const id = last + made.length + 1;
    known.set(key, id);
    made.push([id, namespaceId, status]);
  }
  if (made.length > 0) {
    await insertSeries(tx, made);
    await SET_LAST_SERIES.run(tx, { last: last + made.length });
  }
  return ({ namespaceId, status }) => known.get(`${namespaceId} ${status}`)!;
}
