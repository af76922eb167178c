import { listStatement, statement } from './engine/statement.ts';
import type { Db } from './store.ts';

interface ResourceCount {
  readonly resource: string;
  readonly records: number;
}

/** Read from the index `records_by_resource` alone. */
const COUNT = listStatement<{ ids: readonly string[]; limit: number }, ResourceCount>(
  `select resource, count(*) as records from (
    select resource from records where namespace_id in (:ids) order by namespace_id, resource, key limit :limit
  ) as counted group by resource`,
  'text',
);

/** Counts the records of namespaces by resource, expired ones included. @param limit records that are counted at most */
export async function countByResource(
  db: Db,
  ids: readonly string[],
  limit: number,
): Promise<Map<string, number>> {
  const rows = await COUNT.all(db, { ids, limit });
  return new Map(rows.map(({ resource, records }) => [resource, records]));
}

/** A part of a sample: a run of records in order of creation. */
const RUN = 500;

const FIRST_AND_LAST = statement<{ namespaceId: string }, { first: number | null; last: number | null }>(
  `select (select min(created_at) from records where namespace_id = :namespaceId) as first,
    (select max(created_at) from records where namespace_id = :namespaceId) as last`,
);

const READ_RUN = statement<
  { namespaceId: string; from: number; fromId: string; limit: number },
  { resource: string; created_at: number; id: string }
>(
  `select resource, created_at, id from records where namespace_id = :namespaceId and (created_at, id) > (:from, :fromId)
  order by created_at, id limit :limit`,
);

/** Estimates the records of a namespace by resource, from runs that begin at even distances of time. @param size records of the sample */
export async function sampleByResource(
  db: Db,
  namespaceId: string,
  size: number,
): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  const { first, last } = (await FIRST_AND_LAST.first(db, { namespaceId })) ?? { first: null, last: null };
  if (first === null || last === null) return seen;
  const runs = Math.ceil(size / RUN);
  let end = { from: first, fromId: '' };
  for (let run = 0; run < runs; run++) {
    const start = { from: first + Math.floor(((last - first) * run) / runs), fromId: '' };
    const rows = await READ_RUN.all(db, {
      namespaceId,
      ...(start.from > end.from ? start : end),
      limit: Math.ceil(size / runs),
    });
    for (const { resource } of rows) seen.set(resource, (seen.get(resource) ?? 0) + 1);
    const tail = rows.at(-1);
    if (tail !== undefined) end = { from: tail.created_at, fromId: tail.id };
  }
  return seen;
}
