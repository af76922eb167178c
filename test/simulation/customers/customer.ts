import type { ChangeReader } from '../model/changes.ts';
import type { RestAnswer } from '../model/told.ts';
import type { Random } from '../random.ts';

/** What a customer has, as far as answers have told. Names are few, so that customers meet. */
export interface Customer {
  readonly account: string;
  /** Address of the account. */
  readonly mail: string;
  /** Of a session; null: the account could not be made yet. */
  token: string | null;
  /** Sessions that are being made. */
  signingIn: number;
  /** He deletes the account, or has. */
  isLeaving: boolean;
  /** Tokens of API keys, by id. */
  readonly keys: Map<string, { readonly token: string; readonly namespaces: readonly string[] }>;
  /** Ids by name. */
  readonly namespaces: Map<string, string>;
  readonly records: Map<string, KnownRecord>;
  readonly tokens: {
    readonly id: string;
    readonly namespaceId: string;
    readonly token: string;
    readonly name: string;
    readonly expiresAt: number;
  }[];
  /** Ids. */
  readonly webhooks: Set<string>;
  readonly readers: Follower[];
  /** The last requests with an idempotency key. */
  readonly repeatable: {
    readonly path: string;
    readonly body: object;
    readonly key: string;
    readonly credential: string;
    readonly token: string;
  }[];
}

interface KnownRecord {
  readonly id: string;
  readonly etag: string | null;
  /** The one before it; null: it has none, as far as is known. */
  readonly oldEtag: string | null;
}

/** Somebody who follows the changes of the customer. */
export interface Follower {
  readonly reader: ChangeReader;
  cursor: string;
  /** Pages that were asked for. */
  underWay: number;
  /** For the first change, or it has a stream: it asks for nothing else meanwhile. */
  isWaiting: boolean;
}

export const NAMES: readonly string[] = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'];

export function newCustomer(account: string, mail = `${account}@example.com`): Customer {
  return {
    account,
    mail,
    token: null,
    signingIn: 0,
    isLeaving: false,
    keys: new Map(),
    namespaces: new Map(),
    records: new Map(),
    tokens: [],
    webhooks: new Set(),
    readers: [],
    repeatable: [],
  };
}

/** Somebody new in the place of one who has left. @param mail the same address again */
export function successorOf({ account }: Customer, mail?: string): Customer {
  const [first, number = '1'] = account.split('-');
  return newCustomer(`${first}-${Number(number) + 1}`, mail);
}

/** Of records: `NAME` is the namespace. */
export const KEYS: readonly string[] = [
  'k1.doc.NAME.v1',
  'k2.doc.NAME.v1',
  'k3.doc.NAME.v1',
  'k1.doc.NAME.v2',
  'a.b.doc.NAME.v1',
  'doc.NAME.v1',
];

export function anyKey(random: Random, name: string): string {
  return random.pick(KEYS).replace('NAME', name);
}

export function pickFrom<T>(random: Random, values: Iterable<T>): T | null {
  const all = [...values];
  return all.length === 0 ? null : random.pick(all);
}

/** Remembers what an answer to a write of one record says. */
export function learnRecord(customer: Customer, { body, headers }: RestAnswer): void {
  const etag = typeof headers.etag === 'string' ? headers.etag : null;
  const [key, id] = [body.key as string, body.id as string];
  const before = customer.records.get(key);
  const isSame = before?.id === id && before.etag === etag;
  const oldEtag = before?.id === id ? (isSame ? before.oldEtag : before.etag) : null;
  customer.records.set(key, { id, etag, oldEtag });
}

/** A condition of a request; often one that does not hold any more. */
export function ifMatch({ etag, oldEtag }: KnownRecord, random: Random): Sending['headers'] {
  const tag = random.chance(0.4) ? (oldEtag ?? etag) : etag;
  return tag === null ? undefined : { 'if-match': tag };
}

/** Fields of a new record beside key and data. */
export function fieldsOf(random: Random): object {
  return {
    ...random.pick<object>([{}, { content_type: 'text/plain' }, { content_type: 'application/json' }]),
    ...random.pick<object>([{}, {}, { encoding: 'plain' }]),
    ...random.pick<object>([{}, { ttl_seconds: random.between(0, 1000) }]),
    ...random.pick<object>([{}, {}, {}, { expires_in: random.between(1, 20) }, { expires_in: 0 }]),
  };
}

/** What a PATCH changes beside the data. */
export function patchOf(random: Random): object {
  return random.pick<object>([
    {},
    { ttl_seconds: random.between(0, 1000) },
    { expires_in: random.between(1, 30) },
    { expires_in: 0 },
    { encoding: 'plain' },
    { encoding: 'b64' },
  ]);
}

/** How a request is sent; by the session unless given. */
export interface Sending {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly credential?: string;
  readonly as?: string | null;
}

/** Without these nothing else has an effect. */
export const ALWAYS = ['createNamespace', 'create', 'mint'];
