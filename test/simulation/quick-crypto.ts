/**
 * Cryptography as this process of the system does it: in its own thread, and what was computed once is looked up. Nothing else changes: each
 * function gives what it gave. Tokens of sessions are signed and verified by Web Crypto, whose threads the scheduler would wait for, turn
 * after turn of the event loop; keys are read again by each process of a seed; and a key pair for one message takes longer than all else
 * that a message needs.
 */
import crypto, { KeyObject, type webcrypto } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

/** Results that are kept of each function; then it begins anew. */
const KEPT_MAX = 4_096;
type KeyPair = Readonly<Record<'publicKey' | 'privateKey', KeyObject>>;

/** Key pairs for one message each, used in turn. */
const PAIRS = 32;

function kept<Args extends unknown[], Result>(
  run: (...args: Args) => Result,
  nameOf: (...args: Args) => string | null,
): (...args: Args) => Result {
  const results = new Map<string, Result>();
  return (...args) => {
    const name = nameOf(...args);
    if (name === null) return run(...args);
    const known = results.get(name);
    if (known !== undefined) return known;
    const result = run(...args);
    if (results.size >= KEPT_MAX) results.clear();
    results.set(name, result);
    return result;
  };
}

function keptOf<Key extends object, Result>(run: (key: Key) => Result): (key: Key) => Result {
  const results = new WeakMap<Key, Result>();
  return (key) => {
    const known = results.get(key) ?? run(key);
    results.set(key, known);
    return known;
  };
}

/** Of what a key is read from; null: of something else. */
function nameOfKey(from: unknown): string | null {
  if (typeof from === 'string') return from;
  if (typeof from !== 'object' || from === null || !('key' in from)) return null;
  const { key, format, type, ...more } = from as Record<string, unknown>;
  if (Object.keys(more).length > 0) return null;
  const octets = key instanceof Uint8Array ? Buffer.from(key).toString('base64') : null;
  const text = octets ?? (format === 'jwk' ? JSON.stringify(key) : typeof key === 'string' ? key : null);
  return text === null ? null : `${String(format)} ${String(type)} ${text}`;
}

const { createPrivateKey, createPublicKey, diffieHellman, generateKeyPairSync } = crypto;
const publicOf = keptOf((key: KeyObject) => createPublicKey(key));
const publicFrom = kept(createPublicKey, nameOfKey);
/** Numbers of keys: pairs of them name a shared secret. */
let numbers = 0;
const numberOf = keptOf<KeyObject, number>(() => ++numbers);
const pairs: KeyPair[] = [];
let turns = 0;

Object.assign(crypto, {
  createPrivateKey: kept(createPrivateKey, nameOfKey),
  createPublicKey: (from: Parameters<typeof createPublicKey>[0]) =>
    from instanceof KeyObject ? publicOf(from) : publicFrom(from),
  diffieHellman: kept(
    ({ privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject }) =>
      diffieHellman({ privateKey, publicKey }),
    ({ privateKey, publicKey }) => `${numberOf(privateKey)} ${numberOf(publicKey)}`,
  ),
  generateKeyPairSync(type: string, ...options: unknown[]) {
    const make = generateKeyPairSync as (...args: unknown[]) => KeyPair;
    if (type !== 'x25519' || options.length > 0) return make(type, ...options);
    turns = (turns + 1) % PAIRS;
    pairs[turns] ??= make(type);
    return pairs[turns];
  },
});
syncBuiltinESMExports();

type Ed25519 = 'Ed25519' | { readonly name: 'Ed25519' };
type CryptoKey = webcrypto.CryptoKey;
const originals = new WeakMap<CryptoKey, KeyObject>();
const keys = KeyObject.prototype as unknown as {
  toCryptoKey: (this: KeyObject, ...args: unknown[]) => CryptoKey;
};
const { toCryptoKey } = keys;
keys.toCryptoKey = function (...args) {
  const key = Reflect.apply(toCryptoKey, this, args) as CryptoKey;
  originals.set(key, this);
  return key;
};
/** The library of tokens signs and verifies with Ed25519 alone. */
Object.assign(Object.getPrototypeOf(crypto.webcrypto.subtle) as object, {
  async sign(_: Ed25519, key: CryptoKey, octets: Uint8Array) {
    return Uint8Array.from(crypto.sign(null, octets, originals.get(key)!)).buffer;
  },
  async verify(_: Ed25519, key: CryptoKey, signature: Uint8Array, octets: Uint8Array) {
    return crypto.verify(null, octets, originals.get(key)!, signature);
  },
});
