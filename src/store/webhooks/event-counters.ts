import { listStatement, statement } from '../engine/statement.ts';
import type { EventCountersTable } from '../schema.ts';
import type { Tx } from '../store.ts';

interface Owners {
  readonly ids: readonly string[];
}

const ADD_MISSING = listStatement<Owners>(
  `insert into event_counters (customer_id, seq) select id, 0 from customers where id in (:ids) order by id
  on conflict do nothing`,
  'text',
);

/**
 * The last number given to an event of each of these customers. The caller must have locked the cursor of the fan-out.
 * @returns no number for a customer who was deleted
 */
export async function eventNumbers(tx: Tx, owners: readonly string[]): Promise<Map<string, number>> {
  const known = await knownNumbers(tx, owners);
  const missing = owners.filter((owner) => !known.has(owner));
  if (missing.length === 0) return known;
  await ADD_MISSING.run(tx, { ids: missing });
  return knownNumbers(tx, owners);
}

const KNOWN = listStatement<Owners, EventCountersTable>(
  'select customer_id, seq from event_counters where customer_id in (:ids)',
  'text',
);

async function knownNumbers(tx: Tx, owners: readonly string[]): Promise<Map<string, number>> {
  const rows = await KNOWN.all(tx, { ids: owners });
  return new Map(rows.map((row) => [row.customer_id, row.seq]));
}

const SAVE = statement<{ owner: string; seq: number }>(
  'update event_counters set seq = :seq where customer_id = :owner',
);

export async function saveEventNumbers(tx: Tx, numbers: ReadonlyMap<string, number>): Promise<void> {
  for (const [owner, seq] of numbers) await SAVE.run(tx, { owner, seq });
}
