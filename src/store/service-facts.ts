import { epochTime, nextEpoch } from '../base/ids.ts';
import { insertText, statement } from './engine/statement.ts';
import type { Db, Store, Tx } from './store.ts';

/**
 * `epoch`: random, made with the database. `secret_fingerprint`: of the UQRP_SECRET that the database was made with. `server`: of
 * PostgreSQL, where the database is (`postgres/failover.ts`). `epoch_seq`: the last change before the present epoch; not there before the second one.
 * `events_from`: numbers of events of a customer who has none yet begin after it; not there before the second epoch.
 * `feed_keys_destroyed`: how often hourly keys were deleted; `feed_keys_vacuumed`: that number when their table was rewritten last (`destroyed-keys.ts`).
 */
export type ServiceFact =
  | 'epoch'
  | 'epoch_seq'
  | 'events_from'
  | 'feed_keys_destroyed'
  | 'feed_keys_vacuumed'
  | 'secret_fingerprint'
  | 'server';

/** Facts about the database as a whole. Those of a new epoch and a new server replace the ones before. */
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

/** Runs in each unit that deletes hourly keys. PostgreSQL has them on a page of its file until the table is rewritten. */
export const NOTE_DESTROYED_KEYS = `insert into service_facts (name, value) values ('feed_keys_destroyed', '1')
  on conflict (name) do update set value = cast(cast(service_facts.value as bigint) + 1 as text)`;

/** A counter of events has room for as many above this one. The time is reached in 2112. */
const EVENTS_MAX = 2 ** 52;
/** Numbers that a new epoch skips at least, whatever its time is. */
const EVENTS_SKIPPED = 5_000_000;

/**
 * Runs in the unit that gives the database this later epoch, on either engine.
 *
 * Numbers of events that were sent and are lost must not be given to other events: receivers ignore an event whose number is not
 * higher than the one that they have. The database is a copy, and may be the second one that goes on from the same state, so a number that is
 * higher than in the copy is not enough: numbers go on at the microsecond in which the epoch begins. No customer has a million events a second.
 * A customer without a number in the copy may have got some since it was made: theirs begin there too.
 *
 * The copy may have hourly keys that were destroyed since it was made: none is used again. Control makes another within a second.
 */
export function withNewEpoch(epoch: string): readonly string[] {
  const from = Math.min(epochTime(epoch) * 1_000, EVENTS_MAX);
  const above = (seq: string): string =>
    `case when ${seq} + ${EVENTS_SKIPPED} < ${from} then ${from} else ${seq} + ${EVENTS_SKIPPED} end`;
  return [
    `update event_counters set seq = ${above('seq')}`,
    `insert into service_facts (name, value) values ('events_from', '${Math.max(from, EVENTS_SKIPPED)}')
    on conflict (name) do update set value = cast(${above('cast(service_facts.value as bigint)')} as text)`,
    `insert into service_facts (name, value) select 'epoch_seq', cast(seq as text) from feed_head where id = 1
    on conflict (name) do update set value = excluded.value`,
    'delete from feed_keys',
    NOTE_DESTROYED_KEYS,
  ];
}

/**
 * Gives the database a later epoch: every view is built again from it, and numbers of events are skipped.
 * @param now milliseconds since the epoch of Unix
 * @returns the new one
 */
export async function renewEpoch(tx: Tx, now: number): Promise<string> {
  const epoch = await readFact(tx, 'epoch');
  if (epoch === null) throw new Error('the database has lost its epoch (table service_facts)');
  const next = nextEpoch(epoch, now);
  // Another process has renewed it meanwhile: that one holds.
  if ((await RENEW.run(tx, { epoch, next })) === 0) return (await readFact(tx, 'epoch')) ?? next;
  for (const sql of withNewEpoch(next)) await tx.execute(sql, []);
  return next;
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
