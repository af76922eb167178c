import type { Tier } from '../../base/tiers.ts';
import { statement } from '../engine/statement.ts';
import type { CustomersTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

const SET_TIER = statement<{ id: string; tier: Tier }>('update customers set tier = :tier where id = :id');

/** Moves a customer to another tier. Holds the customer's row until the unit ends. */
export async function updateTier(tx: Tx, id: string, tier: Tier): Promise<void> {
  await SET_TIER.run(tx, { id, tier });
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
  const rows = await ADD_RECORDS.all(tx, { id, delta, most: cap - delta });
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
  const rows = await LOCK.all(tx, { id });
  return rows[0]?.closing === 0;
}

const SUSPENDED = statement<{ id: string }, { id: string }>(
  'select id from namespaces where customer_id = :id and suspended = 1 limit 1',
);

/** A unit before a deletion asks: the owner of a suspended namespace may not free its name. */
export async function hasSuspendedNamespace(tx: Tx, id: string): Promise<boolean> {
  return (await SUSPENDED.first(tx, { id })) !== null;
}

const DELETE_KEYS = statement<{ id: string }>('delete from api_keys where customer_id = :id');
const CLOSE = statement<{ id: string }>('update customers set closing = 1 where id = :id');

/** Begins the deletion of a customer: no credential counts any more. */
export async function closeCustomer(tx: Tx, id: string): Promise<void> {
  await DELETE_KEYS.run(tx, { id });
  await CLOSE.run(tx, { id });
}

const CLOSING = statement<{ limit: number }, { id: string }>(
  'select id from customers where closing = 1 order by id limit :limit',
);

/** Ids of customers that are closed and not yet deleted. */
export async function closingCustomers(db: Db, limit: number): Promise<string[]> {
  const rows = await CLOSING.all(db, { limit });
  return rows.map(({ id }) => id);
}

const LOCK_CLOSING = statement<{ id: string }, { id: string }>(
  'select id from customers where id = :id and closing = 1',
  { lock: 'for no key update' },
);

/** Holds a closed customer's row until the unit ends. @returns false when it is gone */
export async function lockClosingCustomer(tx: Tx, id: string): Promise<boolean> {
  return (await LOCK_CLOSING.first(tx, { id })) !== null;
}

const DELETE = statement<{ id: string }>(
  `delete from customers where id = :id and closing = 1
  and not exists (select 1 from namespaces where customer_id = :id)
  and not exists (select 1 from webhooks where customer_id = :id)`,
);

/** Deletes a closed customer once its namespaces and webhooks are gone, which go in units of their own. */
export async function deleteCustomer(tx: Tx, id: string): Promise<void> {
  await DELETE.run(tx, { id });
}
