import { listStatement, statement } from './engine/statement.ts';
import type { NamespaceRow } from './namespaces.ts';
import type { RecordsTable } from './records.ts';
import type { Db } from './store.ts';

/** A namespace as those see it who read its flags. */
export type ReadNamespace = Pick<NamespaceRow, 'id' | 'name' | 'customer_id' | 'public_read' | 'suspended'>;

const NAMESPACE = statement<{ name: string }, ReadNamespace>(
  'select id, name, customer_id, public_read, suspended from namespaces where name = :name and closing = 0',
);

/** Of any customer. */
export function findReadNamespace(db: Db, name: string): Promise<ReadNamespace | null> {
  return NAMESPACE.first(db, { name });
}

const READABLE = statement<{ name: string; customerId: string; id: string }, ReadNamespace>(
  `select id, name, customer_id, public_read, suspended from namespaces
  where name = :name and closing = 0 and (public_read = 1 or customer_id = :customerId or id = :id)`,
);

/** Who reads flags: whose namespaces are readable beside open ones, or which one is. */
export interface NamespaceReader {
  readonly customerId?: string;
  readonly id?: string;
}

/** The namespace if it is open, or readable to the reader: of others nothing is read. */
export function findReadableNamespace(
  db: Db,
  name: string,
  { customerId = '', id = '' }: NamespaceReader,
): Promise<ReadNamespace | null> {
  return READABLE.first(db, { name, customerId, id });
}

/** A query token that still counts, and its namespace by id and name. */
export interface LiveToken {
  readonly digest: string;
  readonly expires_at: number;
  readonly namespace_id: string;
  readonly namespace: string;
}

/** One digest, or those that begin with the same letters: the digits of hex and its letters stand before `g`. */
interface Digests {
  readonly from: string;
  readonly to: string;
  readonly now: number;
}

const TOKENS = statement<Digests, LiveToken>(
  `select t.digest, t.expires_at, t.namespace_id, n.name as namespace from query_tokens as t join namespaces as n on n.id = t.namespace_id
  where t.digest >= :from and t.digest < :to and t.revoked_at is null and t.expires_at > :now and n.closing = 0 limit 8`,
);

/** Tokens whose digest begins so. @param start lower-case hex */
export function liveTokensFrom(db: Db, start: string, now: number): Promise<LiveToken[]> {
  return TOKENS.all(db, { from: start, to: `${start}g`, now });
}

const KEYS = statement<Digests, { digest: string }>(
  `select digest from api_keys
  where digest >= :from and digest < :to and (expires_at is null or expires_at > :now) limit 8`,
);

/** Digests of API keys that begin so. @param start lower-case hex */
export async function liveKeyDigestsFrom(db: Db, start: string, now: number): Promise<string[]> {
  return (await KEYS.all(db, { from: start, to: `${start}g`, now })).map(({ digest }) => digest);
}

/** The record of a flag. */
export type FlagRecord = Pick<RecordsTable, 'key' | 'data' | 'expires_at'>;

const RECORDS = listStatement<{ ids: readonly string[]; namespaceId: string; now: number }, FlagRecord>(
  `select key, data, expires_at from records
  where key in (:ids) and namespace_id = :namespaceId and (expires_at is null or expires_at > :now)`,
  'text',
);

/** Those of the records that a namespace has. */
export function readFlagRecords(
  db: Db,
  namespaceId: string,
  keys: readonly string[],
  now: number,
): Promise<FlagRecord[]> {
  return RECORDS.all(db, { ids: keys, namespaceId, now });
}
