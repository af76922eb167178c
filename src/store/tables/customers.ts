import type { Tier } from '../../base/tiers.ts';
import { statement } from '../engine/statement.ts';
import type { CustomersTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

/** Moves a customer to another tier. Holds the customer's row until the unit ends. */
export async function updateTier(tx: Tx, id: string, tier: Tier): Promise<void> {
  await tx.updateTable('customers').set({ tier }).where('id', '=', id).execute();
}

const ADD_RECORDS = statement<{ id: string; delta: number; most: number }, Pick<CustomersTable, 'id'>>(
  `update customers set records_count = records_count + :delta
  where id = :id and (:delta <= 0 or records_count <= :most) returning id`,
);

/**
 * Adds to a customer's record count and holds the customer's row until the unit ends, so that units of one customer that
 * count come one after the other.
 * @param cap the count must not pass it when records are added; a count already above it may still fall
 * @returns false, with nothing changed, when it would
 */
export async function addToRecordsCount(tx: Tx, id: string, delta: number, cap: number): Promise<boolean> {
  const { rows } = await ADD_RECORDS(tx, { id, delta, most: cap - delta });
  return rows.length > 0;
}

const LOCK = statement<{ id: string }, { closing: number }>('select closing from customers where id = :id', {
  lock: 'for no key update',
});

/**
 * Holds the customer's row until the unit ends: what the customer owns can then be counted without a race.
 *
 * A unit that has inserted a row of the customer's holds the row for its foreign key. Two such units would wait for each
 * other with `for update`; `for no key update` lets foreign keys pass.
 * @returns false for a customer that is being deleted, or is gone
 */
export async function lockCustomer(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await LOCK(tx, { id });
  return rows[0]?.closing === 0;
}

/** A unit before a deletion asks: the owner of a suspended namespace may not free its name. */
export async function hasSuspendedNamespace(tx: Tx, id: string): Promise<boolean> {
  const row = await tx
    .selectFrom('namespaces')
    .select('id')
    .where('customer_id', '=', id)
    .where('suspended', '=', 1)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Begins the deletion of a customer: no credential counts any more. */
export async function closeCustomer(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('api_keys').where('customer_id', '=', id).execute();
  await tx.updateTable('customers').set({ closing: 1 }).where('id', '=', id).execute();
}

const CLOSING = statement<{ limit: number }, { id: string }>(
  'select id from customers where closing = 1 order by id limit :limit',
);

/** Ids of customers that are closed and not yet deleted. */
export async function closingCustomers(db: Db, limit: number): Promise<string[]> {
  const { rows } = await CLOSING(db, { limit });
  return rows.map(({ id }) => id);
}

/** Holds a closed customer's row until the unit ends. @returns false when it is gone */
export async function lockClosingCustomer(tx: Tx, id: string): Promise<boolean> {
  const row = await tx
    .selectFrom('customers')
    .select('id')
    .where('id', '=', id)
    .where('closing', '=', 1)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** Deletes a closed customer once its namespaces and webhooks are gone, which go in units of their own. */
export async function deleteCustomer(tx: Tx, id: string): Promise<void> {
  await tx
    .deleteFrom('customers')
    .where('id', '=', id)
    .where('closing', '=', 1)
    .where((it) =>
      it.not(it.exists(it.selectFrom('namespaces').select('namespaces.id').where('customer_id', '=', id))),
    )
    .where((it) =>
      it.not(it.exists(it.selectFrom('webhooks').select('webhooks.id').where('customer_id', '=', id))),
    )
    .execute();
}
