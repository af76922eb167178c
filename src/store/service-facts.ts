import { nextEpoch } from '../base/ids.ts';
import { insertText, statement } from './engine/statement.ts';
import type { Db, Store, Tx } from './store.ts';

/** `epoch`: random, made with the database. `secret_fingerprint`: of the UQRP_SECRET that the database was made with. */
export type ServiceFact = 'epoch' | 'secret_fingerprint';

/** Facts about the database as a whole, each written once. */
export interface ServiceFactsTable {
  name: ServiceFact;
  value: string;
}

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

/** A hundred are tried, the newest first: some may be left from before an earlier change of the secret. */
const NEWEST = statement<object, { id: string; signing_secret: Uint8Array }>(
  'select id, signing_secret from webhooks order by created_at desc limit 100',
);

/** Whether the signing secret of a webhook can be decrypted. */
export type OpensWebhook = (webhookId: string, encrypted: Uint8Array) => boolean;

/**
 * Compares the secret's fingerprint with the one that the database was made with, and writes it where there is none yet. A database
 * of a release that stored no fingerprint may have webhooks: then the secret must open one of them.
 * @returns whether it is the same secret
 */
export async function isSecretOfStore(
  store: Store,
  fingerprint: string,
  opens: OpensWebhook,
): Promise<boolean> {
  const held = await readFact(store.read, 'secret_fingerprint');
  if (held !== null) return held === fingerprint;
  const webhooks = await NEWEST.all(store.read, {});
  if (webhooks.length > 0 && !webhooks.some((one) => opens(one.id, one.signing_secret))) return false;
  return (await store.write((tx) => writeFactOnce(tx, 'secret_fingerprint', fingerprint))) === fingerprint;
}
