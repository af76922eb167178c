import type { SecretEncryption } from '../../base/secret-encryption.ts';
import type { FeedKeyStore, StoredKey } from '../../feed/ports/feed-store.ts';
import { insertText, statement } from '../engine/statement.ts';
import type { Store, Tx } from '../store.ts';

/** What the key that encrypts hourly keys is derived from UQRP_SECRET with. */
export const FEED_KEYS_LABEL = 'feed-keys';

const READ = statement<object, { period: number; secret: Uint8Array }>(
  'select period, secret from feed_keys order by period',
);

const INSERT = statement<StoredKey>(insertText('feed_keys', 'period, secret', 'on conflict do nothing'));
const KEEP = statement<{ first: number; last: number }>(
  'delete from feed_keys where period < :first or period > :last',
);
const DELETE_ALL = statement<object>('delete from feed_keys');

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
    await INSERT.run(tx, { period, secret: encryption.encrypt(nameOf(period), text) });
  }

  return {
    async read() {
      const rows = await READ.all(read, {});
      return rows.map(({ period, secret }) => ({
        period,
        secret: Buffer.from(encryption.decrypt(nameOf(period), secret), 'base64'),
      }));
    },
    add: (key) => write((tx) => insert(tx, key)),
    keep: (first, last) =>
      write(async (tx) => {
        await KEEP.run(tx, { first, last });
      }),
    replaceAll: (key) =>
      write(async (tx) => {
        await DELETE_ALL.run(tx, {});
        await insert(tx, key);
      }),
  };
}
