import { nextEpoch } from '../../base/epoch.ts';
import { insertText, statement } from '../engine/statement.ts';
import type { ServiceFact } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

const READ = statement<{ name: ServiceFact }, { value: string }>(
  'select value from service_facts where name = :name',
);

/** @returns null when the fact has not been written */
export async function readFact(db: Db, name: ServiceFact): Promise<string | null> {
  return (await READ.first(db, { name }))?.value ?? null;
}

const WRITE_ONCE = statement<{ name: ServiceFact; value: string }>(
  insertText('service_facts', 'name, value', 'on conflict do nothing'),
);

/**
 * Writes a fact unless there is one. Safe when several processes start together: the first one wins.
 * @returns the stored value: `value`, or the one that was written first
 */
export async function writeFactOnce(tx: Tx, name: ServiceFact, value: string): Promise<string> {
  await WRITE_ONCE.run(tx, { name, value });
  return (await readFact(tx, name)) ?? value;
}

const RENEW = statement<{ epoch: string; next: string }>(
  "update service_facts set value = :next where name = 'epoch' and value = :epoch",
);

/**
 * Gives the database a later epoch: every view is built again from it.
 * @param now milliseconds since the epoch of Unix
 * @returns the new one
 */
export async function renewEpoch(tx: Tx, now: number): Promise<string> {
  const epoch = await readFact(tx, 'epoch');
  if (epoch === null) throw new Error('the database has lost its epoch (table service_facts)');
  const next = nextEpoch(epoch, now);
  // Another process has renewed it meanwhile: that one holds.
  return (await RENEW.run(tx, { epoch, next })) > 0 ? next : ((await readFact(tx, 'epoch')) ?? next);
}
