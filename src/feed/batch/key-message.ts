/** The hourly keys for one node (`UQFK`, see `sealed.ts`): 48 octets a key: secret, first and last millisecond of writing. */
import type { KeyObject } from 'node:crypto';
import { type FeedKey, feedKey, KEY_OCTETS } from './feed-key.ts';
import { field, fieldReader } from './fields.ts';
import { FeedRefusedError } from './refusal.ts';
import { type Freshness, openSealed, type Recipient, type SealedType, writeSealed } from './sealed.ts';
import type { FeedSigner, FeedVerifier } from './signature.ts';

const KEYS: SealedType = { kind: 'UQFK', info: Buffer.from('uqrp feed keys 1') };
/** Those of three hours, the next one, and those that another process made whose clock is fast. */
export const KEYS_MAX = 8;

/** A key, and the time in which batches are made with it, milliseconds since the epoch. */
export interface HourlyKey {
  readonly key: FeedKey;
  readonly from: number;
  readonly until: number;
}

export interface KeyDelivery {
  readonly node: string;
  readonly at: number;
  readonly keys: readonly HourlyKey[];
}

/** @param recipient X25519 public key of the node. @param question that is answered; left out: nobody asked */
export function writeKeys(
  { node, at, keys }: KeyDelivery,
  recipient: KeyObject,
  signer: FeedSigner,
  question?: Uint8Array,
): Uint8Array {
  if (keys.length > KEYS_MAX) throw new RangeError(`at most ${KEYS_MAX} keys are sent at once`);
  const plain = Buffer.concat(
    keys.map(({ key, from, until }) => Buffer.concat([key.secret, field.u64(from), field.u64(until)])),
  );
  return writeSealed(KEYS, { node, at, plain }, recipient, signer, question);
}

/** @throws FeedRefusedError and nothing else, whatever the bytes are */
export function openKeys(
  message: Uint8Array,
  verifier: FeedVerifier,
  own: Recipient,
  fresh: Freshness,
): KeyDelivery {
  const { node, at, plain } = openSealed(KEYS, message, verifier, own, fresh);
  return { node, at, keys: hourlyKeys(plain) };
}

function hourlyKeys(plain: Uint8Array): HourlyKey[] {
  const reader = fieldReader(plain);
  const keys: HourlyKey[] = [];
  while (reader.left() > 0) {
    const secret = Uint8Array.from(reader.bytes(KEY_OCTETS));
    const [from, until] = [reader.u64(), reader.u64()];
    if (until < from || keys.length === KEYS_MAX) throw new FeedRefusedError('format');
    keys.push({ key: feedKey(secret), from, until });
  }
  return keys;
}
