import { listStatement, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

/** Rate limits shared by several processes on PostgreSQL; a single process keeps them in memory. */
export interface RateWindowsTable {
  key: string;
  started_at: number;
  count: number;
}

const OVER = '(rate_windows.started_at <= :before or rate_windows.started_at > :now)';

interface CountedHits {
  readonly key: string;
  /** At most the limit. */
  readonly hits: number;
  /** `limit`: hits in one period. `length` of a period, milliseconds. */
  readonly rule: { readonly limit: number; readonly length: number };
  readonly now: number;
}

const COUNT_HITS = statement<
  { key: string; hits: number; most: number; before: number; now: number },
  { count: number }
>(
  `insert into rate_windows (key, started_at, count) values (:key, :now, :hits)
  on conflict (key) do update set started_at = case when ${OVER} then :now else rate_windows.started_at end,
    count = case when ${OVER} then :hits else rate_windows.count + :hits end
  where ${OVER} or rate_windows.count <= :most returning count`,
);

/**
 * Counts hits in a key's period, and starts a new period when the last one is over.
 * @returns false, with nothing changed, when the period has no room for all of them
 */
export async function countHits(
  tx: Tx,
  { key, hits, rule: { limit, length }, now }: CountedHits,
): Promise<boolean> {
  const rows = await COUNT_HITS.all(tx, { key, hits, most: limit - hits, before: now - length, now });
  return rows.length > 0;
}

const UNCOUNT_HITS = listStatement<{ ids: readonly string[]; takenAt: number; hits: number }>(
  `update rate_windows set count = case when count > :hits then count - :hits else 0 end
  where key in (:ids) and started_at <= :takenAt`,
  'text',
);

/** Uncounts hits that were counted at `takenAt`, in each period that had begun by then. */
export async function uncountHits(
  tx: Tx,
  keys: readonly string[],
  takenAt: number,
  hits: number,
): Promise<void> {
  await UNCOUNT_HITS.run(tx, { ids: keys, takenAt, hits });
}

const READ = listStatement<{ ids: readonly string[] }, RateWindowsTable>(
  'select key, started_at, count from rate_windows where key in (:ids)',
  'text',
);

/** The periods of the keys that have one. */
export async function readPeriods(
  db: Db,
  keys: readonly string[],
): Promise<Map<string, { startedAt: number; count: number }>> {
  const rows = await READ.all(db, { ids: keys });
  return new Map(rows.map((row) => [row.key, { startedAt: row.started_at, count: row.count }]));
}

const FORGET = statement<{ before: number; keys: string }>(
  'delete from rate_windows where started_at <= :before and key like :keys',
);

/** Deletes periods that started at `before` or earlier. @param keys a pattern of LIKE: of these keys alone */
export async function forgetPeriods(tx: Tx, before: number, keys = '%'): Promise<void> {
  await FORGET.run(tx, { before, keys });
}
