import type { Clock } from '../base/time.ts';
import { sumsOf, type UsageSink } from '../feed/ports/usage-sink.ts';
import { listStatement, rowInsert, statement } from './engine/statement.ts';
import type { Db, Store, Tx } from './store.ts';

/** Private reads that were answered with data, over all nodes. */
export interface UsageHoursTable {
  /** The namespace may be deleted by now. */
  namespace_id: string;
  /** Start of the hour. */
  hour: number;
  answers: number;
}

/** Batches of a node that were added, to `usage_hours` or to `query_log_blocks`: a repeated one counts once. */
export interface UsageBatchesTable {
  node: string;
  batch: string;
  added_at: number;
}

/** Private reads of namespaces that are deleted by now. Their customer is known, their name is not. */
export interface UsageDeletedHoursTable {
  customer_id: string;
  hour: number;
  answers: number;
}

const ADD_BATCH = statement<{ node: string; batch: string; now: number }, { batch: string }>(
  `insert into usage_batches (node, batch, added_at) values (:node, :batch, :now)
  on conflict (node, batch) do nothing returning batch`,
);

const addSums = rowInsert(
  'usage_hours',
  { namespace_id: 'text', hour: 'bigint', answers: 'bigint' },
  'on conflict (namespace_id, hour) do update set answers = usage_hours.answers + excluded.answers',
);

const FIND_NAMESPACES = listStatement<{ ids: readonly string[] }, { id: string }>(
  'select id from namespaces where id in (:ids)',
  'text',
);

/** Those of the namespaces that exist, closing ones too. */
export async function existingNamespaces(
  { read }: Pick<Store, 'read'>,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set((await FIND_NAMESPACES.all(read, { ids })).map(({ id }) => id));
}

/** Hourly sums in the database. The id of a batch is stored in the unit that adds its counts. */
export function usageSink({ write }: Pick<Store, 'write'>, clock: Clock): UsageSink {
  return {
    async add(batch) {
      const sums = sumsOf(batch);
      await write(async (tx) => {
        const { node, batch: id } = batch;
        if ((await ADD_BATCH.all(tx, { node, batch: id, now: clock() })).length === 0) return;
        // Each namespace and hour once: PostgreSQL refuses a row that one statement changes twice.
        await addSums(
          tx,
          sums.map(({ namespaceId, hour, answers }) => [namespaceId, hour, answers]),
        );
      });
    },
  };
}

/** Namespaces of one statement: at most 37,000 hourly sums of a month, about 5 ms on SQLite. */
const CHUNK = 50;

/** From `since` on, before `until`: whole hours. */
interface Hours {
  readonly since: number;
  readonly until: number;
}

const SUM_NAMESPACES = listStatement<
  Hours & { ids: readonly string[] },
  { namespace_id: string; answers: number }
>(
  `select namespace_id, sum(answers) as answers from usage_hours
  where namespace_id in (:ids) and hour >= :since and hour < :until group by namespace_id`,
  'text',
);

/** Answered private reads by namespace, of those that have any. */
export async function sumUsage(
  db: Db,
  namespaceIds: readonly string[],
  hours: Hours,
): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (let start = 0; start < namespaceIds.length; start += CHUNK) {
    const ids = namespaceIds.slice(start, start + CHUNK);
    const rows = await SUM_NAMESPACES.all(db, { ids, ...hours });
    for (const { namespace_id, answers } of rows) sums.set(namespace_id, answers);
  }
  return sums;
}

/** Of the namespaces that a customer has deleted, also of those whose deletion goes on. A name for it follows. */
const OF_DELETED = `from (
  select hour, answers from usage_deleted_hours where customer_id = :customerId and hour >= :since and hour < :until
  union all select hour, answers from usage_hours where hour >= :since and hour < :until and namespace_id in (
    select id from namespaces where customer_id = :customerId and closing = 1 and id not in (:ids))
)`;

type OfDeleted = Hours & { readonly customerId: string; readonly ids: readonly string[] };

const SUM_DELETED = listStatement<OfDeleted, { answers: number | null }>(
  `select sum(answers) as answers ${OF_DELETED} as deleted`,
  'text',
);

/**
 * Answered private reads of namespaces that the customer has deleted.
 * @param counted namespaces that are counted by themselves: one may have been deleted since they were listed
 */
export async function sumDeletedUsage(
  db: Db,
  customerId: string,
  counted: readonly string[],
  hours: Hours,
): Promise<number> {
  return (await SUM_DELETED.first(db, { customerId, ids: counted, ...hours }))?.answers ?? 0;
}

interface DaySum {
  /** From 0 on, for the first day of the interval. */
  readonly day: number;
  readonly answers: number;
}

/** What is selected of either table. Numbers come to SQLite as floats, whose division has a rest. */
const BY_DAY = 'cast((hour - :since) / 86400000 as integer) as day, sum(answers) as answers';

const SUM_DAYS = listStatement<Hours & { ids: readonly string[] }, DaySum>(
  `select ${BY_DAY} from usage_hours where namespace_id in (:ids) and hour >= :since and hour < :until group by 1`,
  'text',
);

const SUM_DELETED_DAYS = listStatement<OfDeleted, DaySum>(
  `select ${BY_DAY} ${OF_DELETED} as deleted group by 1`,
  'text',
);

/**
 * Answered private reads by day. A day may come several times.
 * @param deletedOf the customer whose deleted namespaces count too; null: none
 */
export async function sumUsageByDay(
  db: Db,
  namespaceIds: readonly string[],
  deletedOf: string | null,
  hours: Hours,
): Promise<DaySum[]> {
  const sums: DaySum[] = [];
  for (let start = 0; start < namespaceIds.length; start += CHUNK) {
    const ids = namespaceIds.slice(start, start + CHUNK);
    sums.push(...(await SUM_DAYS.all(db, { ids, ...hours })));
  }
  if (deletedOf !== null) {
    sums.push(...(await SUM_DELETED_DAYS.all(db, { customerId: deletedOf, ids: namespaceIds, ...hours })));
  }
  return sums;
}

type NamespaceHours = { namespaceId: string; limit: number };

const SOME_HOURS =
  'select hour from usage_hours where namespace_id = :namespaceId order by hour limit :limit';

const TAKE_HOURS = statement<NamespaceHours, { hour: number; answers: number }>(
  `delete from usage_hours where namespace_id = :namespaceId and hour in (${SOME_HOURS})
  returning hour, answers`,
);

const addToDeleted = rowInsert(
  'usage_deleted_hours',
  { customer_id: 'text', hour: 'bigint', answers: 'bigint' },
  'on conflict (customer_id, hour) do update set answers = usage_deleted_hours.answers + excluded.answers',
);

/**
 * Adds up to `limit` hours of a closed namespace to what its customer has used in deleted ones, and deletes them.
 * @returns whether none is left
 */
export async function foldUsage(
  tx: Tx,
  namespaceId: string,
  customerId: string,
  limit: number,
): Promise<boolean> {
  const rows = await TAKE_HOURS.all(tx, { namespaceId, limit });
  await addToDeleted(
    tx,
    rows.map(({ hour, answers }) => [customerId, hour, answers]),
  );
  return rows.length < limit;
}

const PRUNE_HOURS = statement<{ before: number; limit: number }>(
  `delete from usage_hours where (namespace_id, hour) in (
    select namespace_id, hour from usage_hours where hour < :before order by hour limit :limit
  )`,
);

const PRUNE_DELETED = statement<{ before: number }>('delete from usage_deleted_hours where hour < :before');

/** Deletes sums of hours before a time. @returns how many of namespaces */
export async function pruneUsage(tx: Tx, before: number, limit: number): Promise<number> {
  const pruned = await PRUNE_HOURS.run(tx, { before, limit });
  if (pruned < limit) await PRUNE_DELETED.run(tx, { before });
  return pruned;
}
