import { firstOwner } from './accounts.ts';
import { markWork } from './engine/signals.ts';
import { insertText, listStatement, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

export interface NamespaceRow {
  id: string;
  name: string;
  customer_id: string;
  public_read: number;
  suspended: number;
  /** 1: it is being deleted. Its name is still taken; nothing else but the deletion sees it. */
  closing: number;
  /** Seconds that caches may keep an answer while the namespace is open. */
  max_ttl: number;
  /** The history that it keeps; null: it keeps none, and so are the other three. */
  history_id: number | null;
  /** Versions of a record, and days of a version, that the history keeps at most. */
  history_versions: number | null;
  history_days: number | null;
  /** Milliseconds since the epoch. */
  history_since: number | null;
  records_count: number;
  created_at: number;
  updated_at: number;
}

// Only the functions at the end of this file find a namespace that is closing.

const COLUMNS =
  'id, name, customer_id, public_read, suspended, max_ttl, history_id, history_versions, history_days, history_since, records_count, closing, created_at, updated_at';

const INSERT = statement<NamespaceRow>(insertText('namespaces', COLUMNS, 'on conflict (name) do nothing'));

/** @returns false when the name is taken */
export async function insertNamespace(tx: Tx, namespace: NamespaceRow): Promise<boolean> {
  return (await INSERT.run(tx, namespace)) > 0;
}

const FIND = statement<{ id: string; customerId: string }, NamespaceRow>(
  `select ${COLUMNS} from namespaces where id = :id and customer_id = :customerId and closing = 0`,
);

export async function findNamespace(db: Db, id: string, customerId: string): Promise<NamespaceRow | null> {
  return FIND.first(db, { id, customerId });
}

const LIST = statement<{ customerId: string }, NamespaceRow>(
  `select ${COLUMNS} from namespaces where customer_id = :customerId and closing = 0 order by name`,
);

/** A customer's namespaces, by name, in the order of its bytes. */
export async function listNamespaces(db: Db, customerId: string): Promise<NamespaceRow[]> {
  return LIST.all(db, { customerId });
}

type NamesOf = { ids: readonly string[]; customerId: string };

const BY_NAME = `select ${COLUMNS} from namespaces where name in (:ids) and customer_id = :customerId and closing = 0`;

const FIND_BY_NAME = listStatement<NamesOf, NamespaceRow>(BY_NAME, 'text');

/** Those of `names` that the customer owns. */
export async function findNamespacesByName(
  db: Db,
  names: readonly string[],
  customerId: string,
): Promise<Map<string, NamespaceRow>> {
  if (names.length === 0) return new Map();
  const rows = await FIND_BY_NAME.all(db, { ids: names, customerId });
  return new Map(rows.map((row) => [row.name, row]));
}

const HOLD_BY_NAME = listStatement<NamesOf, NamespaceRow>(`${BY_NAME} order by name`, 'text', {
  lock: 'for no key update',
});

/** As `findNamespacesByName`, and holds their rows until the unit ends, for one that will count their records. */
export async function holdNamespacesByName(
  tx: Tx,
  names: readonly string[],
  customerId: string,
): Promise<Map<string, NamespaceRow>> {
  const rows = await HOLD_BY_NAME.all(tx, { ids: names, customerId });
  return new Map(rows.map((row) => [row.name, row]));
}

const COUNT = statement<{ customerId: string }, { count: number }>(
  'select count(*) as count from namespaces where customer_id = :customerId and closing = 0',
);

export async function countNamespaces(db: Db, customerId: string): Promise<number> {
  return (await COUNT.first(db, { customerId }))?.count ?? 0;
}

/** What a write to a namespace needs to know of it. */
export type CountedNamespace = KeepingNamespace & Pick<NamespaceRow, 'suspended'>;

/** What a write needs to know of the history of a namespace. */
export type KeepingNamespace = Pick<NamespaceRow, 'id' | 'history_id' | 'history_versions'>;

type NamedHome = KeepingNamespace & Pick<NamespaceRow, 'name'>;

const KEEPING = 'id, history_id, history_versions';

const ADD_RECORDS = statement<{ name: string; customerId: string; delta: number }, CountedNamespace>(
  `update namespaces set records_count = records_count + :delta
  where name = :name and customer_id = :customerId and closing = 0 returning ${KEEPING}, suspended`,
);

/**
 * Adds to the record count of the customer's namespace and holds its row until the unit ends: it cannot be deleted meanwhile.
 * @returns null when the customer has no such namespace
 */
export async function addToNamespaceCount(
  tx: Tx,
  name: string,
  customerId: string,
  delta: number,
): Promise<CountedNamespace | null> {
  const rows = await ADD_RECORDS.all(tx, { name, customerId, delta });
  return rows[0] ?? null;
}

const LOCK = statement<{ id: string; customerId: string }, NamespaceRow>(
  `select ${COLUMNS} from namespaces where id = :id and customer_id = :customerId and closing = 0`,
  { lock: 'for update' },
);

/** Reads a namespace and holds its row until the unit ends. */
export function lockNamespace(tx: Tx, id: string, customerId: string): Promise<NamespaceRow | null> {
  return LOCK.first(tx, { id, customerId });
}

const OPEN = `select ${KEEPING}, name from namespaces where customer_id = :customerId and closing = 0`;

const HOLD_OPEN = statement<{ name: string; customerId: string }, KeepingNamespace>(
  `${OPEN} and name = :name`,
  { lock: 'for share' },
);

const HOLD_HOME = statement<{ id: string; customerId: string; now: number }, NamedHome>(
  `${OPEN} and id = (select namespace_id from records where id = :id and (expires_at is null or expires_at > :now))`,
  { lock: 'for share' },
);

/**
 * Holds the customer's namespace until the unit ends: it cannot be closed meanwhile. Other units may hold it so too.
 * @returns null when the customer has no such namespace
 */
export async function holdOpen(tx: Tx, name: string, customerId: string): Promise<KeepingNamespace | null> {
  return HOLD_OPEN.first(tx, { name, customerId });
}

/** As `holdOpen`, of the namespace of a record that is not past its expiry at `now`. */
export function holdHome(tx: Tx, id: string, customerId: string, now: number): Promise<NamedHome | null> {
  return HOLD_HOME.first(tx, { id, customerId, now });
}

/** The flags that only the operator sets. */
export type NamespaceFlags = Partial<Pick<NamespaceRow, 'public_read' | 'suspended'>>;

/** As of the time `:now`, and later than before. */
const UPDATED = 'updated_at = case when updated_at >= :now then updated_at + 1 else :now end';

const SET_FLAGS = statement<
  { name: string; publicRead: number | null; suspended: number | null; now: number },
  NamespaceRow
>(
  `update namespaces set public_read = coalesce(:publicRead, public_read),
    suspended = coalesce(:suspended, suspended), ${UPDATED}
  where name = :name and closing = 0 returning ${COLUMNS}`,
);

/** @returns the namespace after the change, or null when there is none of this name */
export function setNamespaceFlags(
  tx: Tx,
  name: string,
  flags: NamespaceFlags,
  now: number,
): Promise<NamespaceRow | null> {
  const { public_read: publicRead = null, suspended = null } = flags;
  return SET_FLAGS.first(tx, { name, publicRead, suspended, now });
}

/** What the owner of a namespace sets. */
export type NamespaceSettings = Pick<
  NamespaceRow,
  'max_ttl' | 'history_id' | 'history_versions' | 'history_days' | 'history_since'
>;

const SET_SETTINGS = statement<NamespaceSettings & { id: string; now: number }, NamespaceRow>(
  `update namespaces set max_ttl = :max_ttl, history_id = :history_id, history_versions = :history_versions,
    history_days = :history_days, history_since = :history_since, ${UPDATED} where id = :id returning ${COLUMNS}`,
);

/** Of a namespace that the unit has locked. */
export async function setNamespaceSettings(
  tx: Tx,
  id: string,
  settings: NamespaceSettings,
  now: number,
): Promise<NamespaceRow> {
  const row = await SET_SETTINGS.first(tx, { ...settings, id, now });
  if (row === null) throw new Error('a locked namespace is gone');
  return row;
}

const LIST_ALL = statement<object, NamespaceRow & { email: string }>(
  `select ${COLUMNS}, ${firstOwner('namespaces.customer_id')} as email from namespaces where closing = 0 order by name`,
);

/** Every namespace with the mail address of its customer's first owner, by name in the order of its bytes. */
export function listNamespacesWithOwners(db: Db): Promise<(NamespaceRow & { email: string })[]> {
  return LIST_ALL.all(db, {});
}

const CLOSE = statement<{ id: string; now: number }>(
  'update namespaces set closing = 1, updated_at = :now where id = :id',
);

/** Closes a namespace that the unit has locked, and wakes the loop that deletes its rows. */
export async function closeNamespace(tx: Tx, id: string, now: number): Promise<void> {
  await CLOSE.run(tx, { id, now });
  markWork(tx, 'deletions');
}

const CLOSING = statement<{ limit: number }, { id: string }>(
  'select id from namespaces where closing = 1 order by id limit :limit',
);

/** Ids of namespaces that are closed and not yet deleted. */
export async function closingNamespaces(db: Db, limit: number): Promise<string[]> {
  const rows = await CLOSING.all(db, { limit });
  return rows.map(({ id }) => id);
}

const LOCK_CLOSING = statement<{ id: string }, NamespaceRow>(
  `select ${COLUMNS} from namespaces where id = :id and closing = 1`,
  { lock: 'for update' },
);

/** Reads a closed namespace and holds its row until the unit ends. */
export function lockClosing(tx: Tx, id: string): Promise<NamespaceRow | null> {
  return LOCK_CLOSING.first(tx, { id });
}

const DELETE = statement<{ id: string }>('delete from namespaces where id = :id');

export async function deleteNamespaceRow(tx: Tx, id: string): Promise<void> {
  await DELETE.run(tx, { id });
}

const LOCK_NEXT_OPEN = statement<{ customerId: string }, NamespaceRow>(
  `select ${COLUMNS} from namespaces where customer_id = :customerId and closing = 0
  order by created_at, id limit 1`,
  { lock: 'for update' },
);

/** A namespace of a closed customer that is not closed yet, held until the unit ends. */
export function lockNextOpenNamespace(tx: Tx, customerId: string): Promise<NamespaceRow | null> {
  return LOCK_NEXT_OPEN.first(tx, { customerId });
}
