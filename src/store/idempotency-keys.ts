import { statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

// Times are milliseconds since the epoch, flags are 0 or 1, ids are UUID text, lists are JSON text.

/** Results of POST requests, given again when the same request comes again. */
export interface IdempotencyKeysTable {
  /** Hex SHA-256 of customer, scope of the credential, and key. */
  id: string;
  customer_id: string;
  /** Encrypted (`control/unit.ts`); empty while the unit of work that takes the key runs. */
  answer: Uint8Array;
  /** Length of `answer`. */
  octets: number;
  created_at: number;
}

const FIND = statement<{ id: string; before: number }, { answer: Uint8Array }>(
  'select answer from idempotency_keys where id = :id and created_at > :before',
);

/** The encrypted answer under a key, unless it was stored at `before` or earlier. */
export async function findAnswer(db: Db, id: string, before: number): Promise<Uint8Array | null> {
  return (await FIND.first(db, { id, before }))?.answer ?? null;
}

type TakenKey = Pick<IdempotencyKeysTable, 'id' | 'customer_id' | 'created_at'>;

const FREE = statement<{ id: string; before: number }>(
  'delete from idempotency_keys where id = :id and created_at <= :before',
);

/** @param lock what the reference to the customer takes anyhow on PostgreSQL */
const take = (lock: string): string =>
  `insert into idempotency_keys (id, customer_id, answer, octets, created_at)
  select :id, id, :answer, 0, :created_at from (select id from customers where id = :customer_id and closing = 0 ${lock}) as open
  where true on conflict (id) do nothing returning id`;

const TAKE = statement<Omit<IdempotencyKeysTable, 'octets'>, { id: string }>(take(''), {
  postgres: take('for key share'),
});

/**
 * Takes a key, with an empty answer, before the work of the same unit. On PostgreSQL a second unit waits here until the first has ended.
 * @param before keys taken at this time or earlier are free again
 * @returns false when the key is taken, or the customer is being deleted or gone
 */
export async function takeKey(tx: Tx, row: TakenKey, before: number): Promise<boolean> {
  await FREE.run(tx, { id: row.id, before });
  const rows = await TAKE.all(tx, { ...row, answer: new Uint8Array(0) });
  return rows.length > 0;
}

const STORE = statement<{ id: string; answer: Uint8Array; octets: number }>(
  'update idempotency_keys set answer = :answer, octets = :octets where id = :id',
);

export async function storeAnswer(tx: Tx, id: string, answer: Uint8Array): Promise<void> {
  await STORE.run(tx, { id, answer, octets: answer.length });
}

const COUNT = statement<{ customerId: string }, { keys: number; octets: number }>(
  'select count(*) as keys, coalesce(sum(octets), 0) as octets from idempotency_keys where customer_id = :customerId',
);

/** How many keys a customer has, and the octets of their answers. */
export async function countAnswers(
  db: Db,
  customerId: string,
): Promise<{ readonly keys: number; readonly octets: number }> {
  return (await COUNT.first(db, { customerId })) ?? { keys: 0, octets: 0 };
}

const FORGET = statement<{ before: number; limit: number }, { id: string }>(
  `delete from idempotency_keys where id in (
    select id from idempotency_keys where created_at <= :before order by created_at, id limit :limit) returning id`,
);

/** Deletes up to `limit` keys taken at `before` or earlier, the oldest first. @returns how many */
export async function forgetAnswers(tx: Tx, before: number, limit: number): Promise<number> {
  return (await FORGET.all(tx, { before, limit })).length;
}

const DELETE_SOME = statement<{ customerId: string; limit: number }, { id: string }>(
  `delete from idempotency_keys where id in (
    select id from idempotency_keys where customer_id = :customerId limit :limit) returning id`,
);

/** Deletes up to `limit` keys of a customer. @returns how many */
export async function deleteAnswersOf(tx: Tx, customerId: string, limit: number): Promise<number> {
  return (await DELETE_SOME.all(tx, { customerId, limit })).length;
}
