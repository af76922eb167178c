import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import type { SecretEncryption } from '../../base/secret-encryption.ts';
import type { JwtKeysTable } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { addJwtKey, findJwtKey, findJwtKeyOf } from '../../store/tables/jwt-keys.ts';

/** Milliseconds for which a key signs: 30 days. */
export const KEY_PERIOD = 30 * 86_400_000;

/** Public keys in memory. There are two or three; above this number something is wrong, and all are read again. */
const CACHED_MAX = 16;

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

export interface JwtKeys {
  /** The key that signs at `now`. The first process that needs the key of a period makes it. */
  signing(now: number): Promise<SigningKey>;
  /** Null for a key that does not exist, or no longer. */
  verifying(kid: string): Promise<KeyObject | null>;
}

/**
 * Keys that sign session tokens, one for each period of `KEY_PERIOD`. Processes agree because they compute the same period and the
 * database holds one key for it. A key is deleted when the next but one is made: its last token has ended long before.
 */
export function openJwtKeys(store: Store, encryption: SecretEncryption): JwtKeys {
  const verifying = new Map<string, KeyObject>();
  let signing: (SigningKey & { readonly period: number }) | null = null;

  async function load(period: number): Promise<JwtKeysTable> {
    const found = await findJwtKeyOf(store.read, period);
    if (found !== null) return found;
    const made = makeKey(period, encryption);
    await store.write((tx) => addJwtKey(tx, made, period - 1));
    // Another process may have been first: its key counts.
    return (await findJwtKeyOf(store.read, period)) ?? made;
  }

  return {
    async signing(now) {
      const period = Math.floor(now / KEY_PERIOD);
      if (signing?.period === period) return signing;
      const { kid, private_key } = await load(period);
      const der = Buffer.from(encryption.decrypt(kid, private_key), 'base64');
      signing = { period, kid, privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) };
      return signing;
    },
    async verifying(kid) {
      const known = verifying.get(kid);
      if (known !== undefined) return known;
      const row = await findJwtKey(store.read, kid);
      if (row === null) return null;
      const key = createPublicKey({ key: JSON.parse(row.public_key), format: 'jwk' });
      if (verifying.size >= CACHED_MAX) verifying.clear();
      verifying.set(kid, key);
      return key;
    },
  };
}

function makeKey(period: number, encryption: SecretEncryption): JwtKeysTable {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const kid = randomBytes(8).toString('hex');
  const der = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
  return {
    period,
    kid,
    public_key: JSON.stringify(publicKey.export({ format: 'jwk' })),
    private_key: encryption.encrypt(kid, der),
  };
}
