import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { BatchSecrets } from '../../src/feed/message/batch.ts';
import {
  type FeedKey,
  type FeedKeyRing,
  type FeedSigner,
  type FeedVerifier,
  feedKey,
  feedKeyRing,
} from '../../src/feed/message/keys.ts';
import { FeedRefusedError } from '../../src/feed/ports/refusal.ts';
import type { Random } from './random.ts';

/** What control writes with. `secrets` throws while there is no key. */
export interface ControlSecrets {
  secrets(): BatchSecrets;
  ring(): FeedKeyRing;
}

/** What a node reads with. */
export interface NodeSecrets {
  ring(): FeedKeyRing;
  present(): FeedKey | null;
}

const HOUR_MS = 3_600_000;
/** Written under for one hour, read for two more. */
const HOURS_READ = 2;
const SIGNATURE_OCTETS = 64;
const SIGNER_ID = Buffer.from('simulate');

/**
 * Hourly keys that everybody has, and a checksum in the place of Ed25519, which takes most of the time of a simulation otherwise: both find
 * every message that the simulated network tears. The real ones are in `whole-secrets.ts`.
 */
export function createPlainSecrets(random: Random, now: () => number): ControlSecrets & NodeSecrets {
  const keys = new Map<number, FeedKey>();
  const rings = new Map<number, FeedKeyRing>();
  const hourNow = (): number => Math.floor(now() / HOUR_MS);

  function key(hour: number): FeedKey {
    const known = keys.get(hour);
    if (known !== undefined) return known;
    const made = feedKey(createHash('sha256').update(`hour ${hour}`).digest());
    keys.set(hour, made);
    return made;
  }

  return {
    secrets: () => ({
      key: key(hourNow()),
      signer: checksumSigner,
      random: (octets) => random.octets(octets),
    }),
    present: () => key(hourNow()),
    ring() {
      const hour = hourNow();
      const known = rings.get(hour);
      if (known !== undefined) return known;
      const hours = Array.from({ length: HOURS_READ + 2 }, (_, i) => hour + 1 - i);
      const ring = feedKeyRing(hours.map(key));
      rings.set(hour, ring);
      return ring;
    },
  };
}

/** As long as an Ed25519 signature: CRC-32, then zeros. */
function checksum(message: Uint8Array): Buffer {
  const octets = Buffer.alloc(SIGNATURE_OCTETS);
  octets.writeUInt32BE(crc32(message));
  return octets;
}

const checksumSigner: FeedSigner = {
  id: SIGNER_ID,
  sign: (message) => Buffer.concat([message, checksum(message)]),
};

export const checksumVerifier: FeedVerifier = {
  open(signed, signerOf) {
    if (signed.length <= SIGNATURE_OCTETS) throw new FeedRefusedError('size');
    const message = signed.subarray(0, signed.length - SIGNATURE_OCTETS);
    if (Buffer.compare(signerOf(message), SIGNER_ID) !== 0) throw new FeedRefusedError('signer');
    if (Buffer.compare(checksum(message), signed.subarray(message.length)) !== 0)
      throw new FeedRefusedError('signature');
    return message;
  },
};

/** Checks each message once, although three nodes receive the same octets. One that was torn on its way is another one. */
export function checkedOnce(verifier: FeedVerifier): FeedVerifier {
  const bodies = new WeakMap<Uint8Array, Uint8Array>();
  return {
    open(signed, signerOf) {
      const known = bodies.get(signed);
      if (known !== undefined) return known;
      const body = verifier.open(signed, signerOf);
      bodies.set(signed, body);
      return body;
    },
  };
}
