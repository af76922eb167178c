import type { SecretEncryption } from '../base/seal.ts';
import type { FeedKeyStore, StoredKey } from '../feed/ports/feed-store.ts';
import { insertText, listStatement, statement } from './engine/statement.ts';
import { NOTE_DESTROYED_KEYS } from './service-facts.ts';
import type { Db, Store, Tx } from './store.ts';

/** The signing keys of a zone. */
export interface KeySetsTable {
  zone: string;
  /** One more with every change. */
  version: number;
  /** JSON, private keys encrypted; see `dns/dnssec/keys/key-encryption.ts`. */
  document: string;
  updated_at: number;
}

/** Hourly keys of the feed (`feed/keys/`). */
export interface FeedKeysTable {
  /** The period in which batches are made with the key: every process computes the same number. */
  period: number;
  /** 32 octets in Base64, encrypted (`core/secret-encryption.ts`). */
  secret: Uint8Array;
}

const READ_KEY_SET = listStatement<{ ids: readonly string[] }, EncryptedKeySet>(
  'select zone, version, document from dnssec_key_sets where zone in (:ids)',
  'text',
);

/** The encrypted key sets of those zones that have one. */
export async function readKeySets(db: Db, zones: readonly string[]): Promise<readonly EncryptedKeySet[]> {
  return READ_KEY_SET.all(db, { ids: zones });
}

const INSERT_KEY_SET = statement<{ zone: string; document: string; now: number }>(
  `insert into dnssec_key_sets (zone, version, document, updated_at) values (:zone, 1, :document, :now)
  on conflict (zone) do nothing`,
);

/** Stores the first key set of a zone. Where one is there already, that one stays. @returns whether it was stored */
export async function insertKeySet(tx: Tx, zone: string, document: string, now: number): Promise<boolean> {
  return (await INSERT_KEY_SET.run(tx, { zone, document, now })) > 0;
}

const REPLACE = statement<EncryptedKeySet & { before: string; now: number }>(
  `update dnssec_key_sets set version = version + 1, document = :document, updated_at = :now
  where zone = :zone and version = :version and document = :before`,
);

/**
 * Replaces the key set of a zone if it is still this one: after a failover another one may have its version.
 * @returns whether it was replaced
 */
export async function replaceKeySet(
  tx: Tx,
  { zone, version, document: before }: EncryptedKeySet,
  document: string,
  now: number,
): Promise<boolean> {
  return (await REPLACE.run(tx, { zone, version, document, before, now })) > 0;
}

/** What the key that encrypts hourly keys is derived from UQRP_SECRET with. */
export const FEED_KEYS_LABEL = 'feed-keys';

const READ_FEED_KEY = statement<object, { period: number; secret: Uint8Array }>(
  'select period, secret from feed_keys order by period',
);

const INSERT_FEED_KEY = statement<StoredKey>(
  insertText('feed_keys', 'period, secret', 'on conflict do nothing'),
);
const KEEP = statement<{ first: number; last: number }>(
  'delete from feed_keys where period < :first or period > :last',
);
const DELETE_ALL = statement<object>('delete from feed_keys');
const NOTE = statement<object>(NOTE_DESTROYED_KEYS);

/**
 * Hourly keys in the database. A key is bound to its period: another row's does not decrypt.
 * @param encryption with a cache of 0: decrypted keys must not outlive their rows
 */
export function feedKeyStore(
  { read, write }: Pick<Store, 'read' | 'write'>,
  encryption: SecretEncryption,
): FeedKeyStore {
  const nameOf = (period: number): string => `feed-key ${period}`;

  async function insert(tx: Tx, { period, secret }: StoredKey): Promise<void> {
    const text = Buffer.from(secret).toString('base64');
    await INSERT_FEED_KEY.run(tx, { period, secret: encryption.encrypt(nameOf(period), text) });
  }

  return {
    async read() {
      const rows = await READ_FEED_KEY.all(read, {});
      return rows.map(({ period, secret }) => ({
        period,
        secret: Buffer.from(encryption.decrypt(nameOf(period), secret), 'base64'),
      }));
    },
    add: (key) => write((tx) => insert(tx, key)),
    keep: (first, last) =>
      write(async (tx) => {
        if ((await KEEP.run(tx, { first, last })) > 0) await NOTE.run(tx, {});
      }),
    replaceAll: (key) =>
      write(async (tx) => {
        if ((await DELETE_ALL.run(tx, {})) > 0) await NOTE.run(tx, {});
        await insert(tx, key);
      }),
  };
}

/** Signing keys of one zone as the control side sends them to the edge. The private keys are encrypted. */
export interface EncryptedKeySet {
  /** Lower case, without a trailing dot. */
  readonly zone: string;
  /** 1 for the first set of a zone; each step of a rollover adds 1. */
  readonly version: number;
  /** JSON that `dns/dnssec/keys/key-encryption.ts` writes and reads. */
  readonly document: string;
}
