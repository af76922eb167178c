import type { Tier } from '../base/limits.ts';
import { markWork } from './engine/signals.ts';
import { insertText, statement } from './engine/statement.ts';
import type { Db, Tx } from './store.ts';

export interface ApiKeyRow {
  id: string;
  customer_id: string;
  name: string;
  /** Lower-case hex SHA-256 of the token, unique. */
  digest: string;
  /** JSON array of `read`, `write`; empty means both. */
  operations: string;
  /** JSON array of namespace names; empty means all of the customer's. */
  namespaces: string;
  last_used_at: number | null;
  expires_at: number | null;
  created_at: number;
}

/** A key that still counts, with the tier of its customer. */
export interface LiveApiKey extends ApiKeyRow {
  readonly tier: Tier;
  /** The user whose own customer it belongs to; of an organization the owner who has belonged to it for longest. */
  readonly person_id: string;
}

const COLUMNS = 'id, customer_id, name, digest, operations, namespaces, last_used_at, expires_at, created_at';

const INSERT = statement<ApiKeyRow>(insertText('api_keys', COLUMNS));

export async function insertApiKey(tx: Tx, key: ApiKeyRow): Promise<void> {
  await INSERT.run(tx, key);
}

const FIND_LIVE = statement<{ digest: string; now: number }, LiveApiKey>(
  `select k.id, k.customer_id, k.name, k.digest, k.operations, k.namespaces, k.last_used_at, k.expires_at, k.created_at,
    c.tier, case when c.name is null then c.id else coalesce((select m.user_id from memberships as m
      where m.customer_id = c.id and m.role = 'owner' order by m.created_at, m.user_id limit 1), c.id) end as person_id
  from api_keys as k join customers as c on c.id = k.customer_id
  where k.digest = :digest and (k.expires_at is null or k.expires_at > :now) and c.closing = 0`,
);

/** The key with this digest, unless it is past its expiry at `now`. Looked up for every request that a key authenticates. */
export async function findLiveApiKey(db: Db, digest: string, now: number): Promise<LiveApiKey | null> {
  return FIND_LIVE.first(db, { digest, now });
}

const IS_LIVE = statement<{ id: string; now: number }, { id: string }>(
  'select id from api_keys where id = :id and (expires_at is null or expires_at > :now)',
);

/** Whether a key has neither been deleted nor expired at `now`. */
export async function isLiveApiKey(db: Db, id: string, now: number): Promise<boolean> {
  return (await IS_LIVE.first(db, { id, now })) !== null;
}

const LIST = statement<{ customerId: string }, ApiKeyRow>(
  `select ${COLUMNS} from api_keys where customer_id = :customerId order by created_at, id`,
);

/** A customer's keys, oldest first. */
export function listApiKeys(db: Db, customerId: string): Promise<ApiKeyRow[]> {
  return LIST.all(db, { customerId });
}

const COUNT = statement<{ customerId: string }, { count: number }>(
  'select count(*) as count from api_keys where customer_id = :customerId',
);

export async function countApiKeys(db: Db, customerId: string): Promise<number> {
  return (await COUNT.first(db, { customerId }))?.count ?? 0;
}

type DeletedApiKey = Pick<ApiKeyRow, 'id' | 'name'>;

const DELETE = statement<{ id: string; customerId: string }, DeletedApiKey>(
  'delete from api_keys where id = :id and customer_id = :customerId returning id, name',
);

/** In a unit that holds the customer's row. @returns null when the customer has no such key */
export async function deleteApiKey(tx: Tx, id: string, customerId: string): Promise<DeletedApiKey | null> {
  const deleted = await DELETE.first(tx, { id, customerId });
  if (deleted !== null) markWork(tx, 'credentials');
  return deleted;
}

const TOUCH = statement<{ id: string; now: number; before: number }>(
  'update api_keys set last_used_at = :now where id = :id and (last_used_at is null or last_used_at <= :before)',
);

/** Notes a use, unless one later than `before` is noted already. */
export async function touchApiKey(tx: Tx, id: string, now: number, before: number): Promise<void> {
  await TOUCH.run(tx, { id, now, before });
}
