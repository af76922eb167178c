/** Deletes versions: of ended histories, past their time, over the number of a record or of a customer. */
import { LIMITS, TIERS } from '../base/limits.ts';
import { statement } from './engine/statement.ts';
import { readFact } from './service-facts.ts';
import type { Db, Store, Tx } from './store.ts';
import { countDropped, countInHistory, dropUpTo, type KeptVersion } from './versions.ts';

/** Rows that one unit deletes: other writers wait for it. */
const UNIT = 250;
/** Units of one round of upkeep, which has other payloads to erase too. */
const UNITS = 40;
/** Keys whose versions are looked at in one unit. */
const KEYS = 100;

const ANY = statement<object, { id: number }>('select id from histories limit 1');

/** A row of SQLite has a number; PostgreSQL is told its key. */
const ROWS = { sqlite: 'rowid', postgres: '(history_id, key, version, cause)' } as const;
const PICKED = { sqlite: 'rowid', postgres: 'history_id, key, version, cause' } as const;

const expire = (
  engine: Db['engine'],
): string => `update record_versions set data = null where ${ROWS[engine]} in (
  select ${PICKED[engine]} from record_versions
  where expires_at is not null and data is not null and expires_at <= :now order by expires_at limit :limit)`;

const NEXT_EXPIRED = statement<{ now: number }, { expires_at: number }>(
  `select expires_at from record_versions where expires_at is not null and data is not null and expires_at <= :now
  order by expires_at limit 1`,
);
const EXPIRE = statement<{ now: number; limit: number }>(expire('sqlite'), { postgres: expire('postgres') });

interface Oldest {
  readonly id: number;
  /** Only versions that ended by this time, and by this write. */
  readonly validTo: number;
  readonly seq: number;
  readonly limit: number;
}

const deleteOldest = (engine: Db['engine']): string => `delete from record_versions where ${ROWS[engine]} in (
  select ${PICKED[engine]} from record_versions where history_id = :id and write_seq <= :seq and valid_to <= :validTo
  order by write_seq limit :limit) returning cause, valid_to`;

const DELETE_OLDEST = statement<Oldest, Pick<KeptVersion, 'cause' | 'valid_to'>>(deleteOldest('sqlite'), {
  postgres: deleteOldest('postgres'),
});

const ALL = { validTo: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER } as const;

/** @returns rows deleted; their history has counted them */
async function deleteSome(tx: Tx, oldest: Oldest): Promise<number> {
  const rows = await DELETE_OLDEST.all(tx, oldest);
  if (rows.length > 0) await countInHistory(tx, oldest.id, countDropped(rows));
  return rows.length;
}

const NEXT_ENDED = statement<{ least: number }, { id: number }>(
  'select id from histories where ended >= :least order by id limit 1',
);
const DELETE_HISTORY = statement<{ id: number }>('delete from histories where id = :id');

/** On PostgreSQL the row of an ended history stays until its key is out of the file: `destroyed-keys.ts`. */
const LEAST_ENDED = { sqlite: 1, postgres: 2 } as const;

async function deleteEnded(tx: Tx): Promise<boolean> {
  const next = await NEXT_ENDED.first(tx, { least: LEAST_ENDED[tx.engine] });
  if (next === null) return false;
  if ((await deleteSome(tx, { ...next, ...ALL, limit: UNIT })) < UNIT) await DELETE_HISTORY.run(tx, next);
  return true;
}

/** By the version that ended first in the log: one seek for each history. */
const NEXT_AGED = statement<{ now: number }, { id: number; days: number }>(
  `select h.id, n.history_days as days from histories as h join namespaces as n on n.history_id = h.id
  where (select v.valid_to from record_versions as v where v.history_id = h.id order by v.write_seq limit 1)
    <= :now - n.history_days * 86400000
  order by h.id limit 1`,
);

async function deleteAged(tx: Tx, now: number): Promise<boolean> {
  const next = await NEXT_AGED.first(tx, { now });
  if (next === null) return false;
  const validTo = now - next.days * 86_400_000;
  return (await deleteSome(tx, { id: next.id, validTo, seq: ALL.seq, limit: UNIT })) > 0;
}

const CAPS = Object.entries(TIERS).map(
  ([tier, { records }]) => `when '${tier}' then ${records * LIMITS.versionsPerRecord}`,
);
const CAP = `case c.tier ${CAPS.join(' ')} end`;

const NEXT_OVER = statement<object, { customer_id: string; excess: number }>(
  `select h.customer_id, case when sum(h.versions) > sum(h.creations) then sum(h.versions) else sum(h.creations) end - ${CAP} as excess
  from histories as h join customers as c on c.id = h.customer_id where h.ended = 0 group by h.customer_id, c.tier
  having sum(h.versions) > ${CAP} or sum(h.creations) > ${CAP} limit 1`,
);

const OLDEST_OF = statement<{ customerId: string }, { id: number; seq: number | null }>(
  `select h.id, (select v.write_seq from record_versions as v where v.history_id = h.id order by v.write_seq limit 1) as seq
  from histories as h where h.customer_id = :customerId and h.ended = 0`,
);

/** Deletes from the history with the oldest version, up to the oldest of the next one. */
async function deleteOver(tx: Tx): Promise<boolean> {
  const next = await NEXT_OVER.first(tx, {});
  if (next === null) return false;
  const histories = await OLDEST_OF.all(tx, { customerId: next.customer_id });
  const [first, second] = histories
    .flatMap(({ id, seq }) => (seq === null ? [] : [{ id, seq }]))
    .sort((a, b) => a.seq - b.seq);
  if (first === undefined) return false;
  const limit = Math.min(UNIT, Number(next.excess));
  const seq = second?.seq ?? ALL.seq;
  return (await deleteSome(tx, { id: first.id, validTo: ALL.validTo, seq, limit })) > 0;
}

const NEXT_TRIM = statement<object, { id: number; trim: number; versions: number }>(
  `select h.id, h.trim, n.history_versions as versions from histories as h join namespaces as n on n.history_id = h.id
  where h.trim > 0 order by h.id limit 1`,
);
const NEXT_KEYS = statement<{ id: number; after: string }, { key: string; last: number }>(
  `select key, max(version) as last from record_versions where history_id = :id and key > :after and cause <> 'create'
  group by key order by key limit ${KEYS}`,
);
const TRIMMED = statement<{ id: number; trim: number }>(
  'update histories set trim = 0 where id = :id and trim = :trim',
);

/** After the owner has lowered the number of versions: goes through all keys. A stop begins it anew. */
async function trimNext({ read, write }: Pick<Store, 'read' | 'write'>, signal: AbortSignal): Promise<void> {
  const next = await NEXT_TRIM.first(read, {});
  if (next === null) return;
  const { id, trim, versions } = next;
  const epoch = await readFact(read, 'epoch');
  for (let after: string | undefined = ''; after !== undefined; ) {
    const from: string = after;
    if (signal.aborted) return;
    after = await write(async (tx) => {
      const present = await NEXT_TRIM.first(tx, {});
      // The owner has changed it, or a failover took back what was done: begin anew.
      const isSame = present?.id === id && present.trim === trim && present.versions === versions;
      if (!isSame || (await readFact(tx, 'epoch')) !== epoch) return undefined;
      const keys = await NEXT_KEYS.all(tx, { id, after: from });
      const gone = await dropUpTo(tx, id, new Map(keys.map(({ key, last }) => [key, last - versions])));
      if (gone.length > 0) await countInHistory(tx, id, countDropped(gone));
      if (keys.length < KEYS) await TRIMMED.run(tx, { id, trim });
      return keys.length < KEYS ? undefined : keys.at(-1)?.key;
    });
  }
}

interface Step {
  /** Whether there is work: a unit that does nothing would wake the loops that wait for commits. */
  readonly isDue: (db: Db, now: number) => Promise<boolean>;
  /** @returns whether it did anything */
  readonly run: (tx: Tx, now: number) => Promise<boolean>;
}

const STEPS: readonly Step[] = [
  {
    isDue: async (db, now) => (await NEXT_EXPIRED.first(db, { now })) !== null,
    run: async (tx, now) => (await EXPIRE.run(tx, { now, limit: UNIT })) === UNIT,
  },
  {
    isDue: async (db) => (await NEXT_ENDED.first(db, { least: LEAST_ENDED[db.engine] })) !== null,
    run: deleteEnded,
  },
  { isDue: async (db, now) => (await NEXT_AGED.first(db, { now })) !== null, run: deleteAged },
  { isDue: async (db) => (await NEXT_OVER.first(db, {})) !== null, run: deleteOver },
];

/**
 * Erases what histories need not keep: payloads past the expiry they carry, versions of ended histories, versions past their days, and what is
 * over the number of a record or of a customer.
 * @returns whether more is left
 */
export async function pruneVersions(
  store: Pick<Store, 'read' | 'write'>,
  now: number,
  signal: AbortSignal,
): Promise<boolean> {
  if ((await ANY.first(store.read, {})) === null) return false;
  let isMore = false;
  for (const { isDue, run } of STEPS) {
    if (!(await isDue(store.read, now))) continue;
    let units = 0;
    while (units < UNITS && !signal.aborted && (await store.write((tx) => run(tx, now)))) units++;
    isMore ||= units === UNITS;
  }
  await trimNext(store, signal);
  return isMore;
}
