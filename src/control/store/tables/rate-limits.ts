import { listStatement } from '../engine/list-statement.ts';
import { statement } from '../engine/statement.ts';
import type { RateWindowsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

const OVER = '(rate_windows.started_at <= :before or rate_windows.started_at > :now)';

interface Hit {
  readonly key: string;
  readonly limit: number;
  readonly before: number;
  readonly now: number;
}

const COUNT_HIT = statement<Hit, { count: number }>(
  `insert into rate_windows (key, started_at, count) values (:key, :now, 1)
  on conflict (key) do update set started_at = case when ${OVER} then :now else rate_windows.started_at end,
    count = case when ${OVER} then 1 else rate_windows.count + 1 end
  where ${OVER} or rate_windows.count < :limit returning count`,
);

/**
 * Counts a hit in a key's period, and starts a new period when the last one is over.
 * @param limit hits in one period
 * @param length of a period, milliseconds
 * @returns false, with nothing changed, when the period has `limit` hits
 */
export async function countHit(
  tx: Tx,
  key: string,
  limit: number,
  length: number,
  now: number,
): Promise<boolean> {
  const { rows } = await COUNT_HIT(tx, { key, limit, before: now - length, now });
  return rows.length > 0;
}

const UNCOUNT_HIT = listStatement<{ ids: readonly string[]; takenAt: number }>(
  'update rate_windows set count = count - 1 where key in (:ids) and started_at <= :takenAt and count > 0',
  'text',
);

/** Uncounts a hit that was counted at `takenAt`, in each period that had begun by then. */
export async function uncountHit(tx: Tx, keys: readonly string[], takenAt: number): Promise<void> {
  await UNCOUNT_HIT(tx, { ids: keys, takenAt });
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
  const { rows } = await READ(db, { ids: keys });
  return new Map(rows.map((row) => [row.key, { startedAt: row.started_at, count: row.count }]));
}

const FORGET = statement<{ before: number; keys: string }>(
  'delete from rate_windows where started_at <= :before and key like :keys',
);

/** Deletes periods that started at `before` or earlier. @param keys a pattern of LIKE: of these keys alone */
export async function forgetPeriods(tx: Tx, before: number, keys = '%'): Promise<void> {
  await FORGET(tx, { before, keys });
}
