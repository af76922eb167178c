/**
 * One part of a snapshot: some octets of the content, compressed by themselves and encrypted under an hourly key. A nonce of 12 octets,
 * then AES-256-GCM. The associated data are the id of the snapshot and the number of the part, so that a broker cannot exchange parts.
 */

import { NONCE_OCTETS } from '../../base/aes-gcm.ts';
import { LIMITS } from '../../base/limits.ts';
import { compress, decompress } from '../batch/compression.ts';
import { decryptRows, encryptRows, type FeedKey } from '../batch/feed-key.ts';
import { field } from '../batch/fields.ts';
import { FeedRefusedError } from '../batch/refusal.ts';

const CONTEXT = Buffer.from('uqrp snapshot part 1');

export interface PartPlace {
  /** Of the snapshot. */
  readonly id: Uint8Array;
  /** From 0. */
  readonly index: number;
}

function associated({ id, index }: PartPlace): Uint8Array {
  return Buffer.concat([CONTEXT, id, field.u32(index)]);
}

export function writePart(
  plain: Uint8Array,
  place: PartPlace,
  key: FeedKey,
  random: (octets: number) => Uint8Array,
): Uint8Array {
  const nonce = random(NONCE_OCTETS);
  return Buffer.concat([nonce, encryptRows(key, nonce, associated(place), compress(plain))]);
}

/**
 * @param octets of the content in this part
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openPart(message: Uint8Array, place: PartPlace, key: FeedKey, octets: number): Uint8Array {
  if (message.length <= NONCE_OCTETS || message.length > LIMITS.feedMessage)
    throw new FeedRefusedError('size');
  const nonce = message.subarray(0, NONCE_OCTETS);
  return decompress(decryptRows(key, nonce, associated(place), message.subarray(NONCE_OCTETS)), octets);
}

/** The content cut into parts, whatever the pieces are that it comes in. All but the last are full. */
export async function* partsIn(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let octets = 0;
  for await (const piece of content) {
    held.push(piece);
    octets += piece.length;
    if (octets < LIMITS.feedSnapshotPart) continue;
    const whole = Buffer.concat(held);
    let at = 0;
    for (; octets - at >= LIMITS.feedSnapshotPart; at += LIMITS.feedSnapshotPart) {
      yield whole.subarray(at, at + LIMITS.feedSnapshotPart);
    }
    held = [whole.subarray(at)];
    octets -= at;
  }
  if (octets > 0) yield Buffer.concat(held);
}
