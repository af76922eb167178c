import type { IdempotencyKeysTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** The encrypted answer under a key, unless it was stored at `before` or earlier. */
export async function findAnswer(db: Db, id: string, before: number): Promise<Uint8Array | null> {
  const row = await db
    .selectFrom('idempotency_keys')
    .select('answer')
    .where('id', '=', id)
    .where('created_at', '>', before)
    .executeTakeFirst();
  return row?.answer ?? null;
}

/**
 * Takes a key, with an empty answer, before the work of the same unit. On PostgreSQL a second unit waits here until the
 * first has ended.
 * @param before keys taken at this time or earlier are free again
 * @returns false when the key is taken
 */
export async function takeKey(
  tx: Tx,
  row: Pick<IdempotencyKeysTable, 'id' | 'user_id' | 'created_at'>,
  before: number,
): Promise<boolean> {
  await tx
    .deleteFrom('idempotency_keys')
    .where('id', '=', row.id)
    .where('created_at', '<=', before)
    .execute();
  const taken = await tx
    .insertInto('idempotency_keys')
    .values({ ...row, answer: new Uint8Array(0), octets: 0 })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst();
  return taken !== undefined;
}

export async function storeAnswer(tx: Tx, id: string, answer: Uint8Array): Promise<void> {
  await tx
    .updateTable('idempotency_keys')
    .set({ answer, octets: answer.length })
    .where('id', '=', id)
    .execute();
}

/** How many keys a customer has, and the octets of their answers. */
export async function countAnswers(
  db: Db,
  userId: string,
): Promise<{ readonly keys: number; readonly octets: number }> {
  const { keys, octets } = await db
    .selectFrom('idempotency_keys')
    .select((key) => [key.fn.countAll<number>().as('keys'), key.fn.sum<number | null>('octets').as('octets')])
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return { keys, octets: octets ?? 0 };
}

/** Deletes up to `limit` keys taken at `before` or earlier, the oldest first. @returns how many */
export async function forgetAnswers(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx
    .deleteFrom('idempotency_keys')
    .where('id', 'in', (key) =>
      key
        .selectFrom('idempotency_keys')
        .select('id')
        .where('created_at', '<=', before)
        .orderBy('created_at')
        .orderBy('id')
        .limit(limit),
    )
    .returning('id')
    .execute();
  return rows.length;
}
