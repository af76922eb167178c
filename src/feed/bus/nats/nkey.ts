/**
 * nkeys as keys of `node:crypto`: what a node signs with, and what control checks. An nkey is an Ed25519 key in base32 (RFC 4648, without
 * padding): prefix, 32 octets, CRC-16/XMODEM with the low octet first. A seed has two octets of prefix.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { type FeedSigner, feedSigner } from '../../message/keys.ts';

/** Of a user (`U…`): control and nodes are users of the broker. */
const USER = 20 << 3;
/** Of a seed (`S…`). The upper three bits of the kind follow in the first octet, the lower five in the second. */
const SEED = 18 << 3;
const KEY_OCTETS = 32;
const CRC_OCTETS = 2;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** PKCS#8 in front of a raw private key (RFC 8410 §7). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Ed25519. */
export interface NkeyKeys {
  readonly publicKey: KeyObject;
  readonly signer: FeedSigner;
}

/** @returns null for anything but the public nkey of a user */
export function nkeyPublicKey(text: string): KeyObject | null {
  const octets = checked(text, 1 + KEY_OCTETS);
  if (octets === null || octets[0] !== USER) return null;
  const x = octets.subarray(1).toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

/** @returns null for anything but the seed of a user's nkey */
export function nkeyKeys(seed: string): NkeyKeys | null {
  const octets = checked(seed, 2 + KEY_OCTETS);
  if (octets === null || octets[0] !== (SEED | (USER >> 5)) || octets[1] !== (USER & 31) << 3) return null;
  const key = Buffer.concat([PKCS8, octets.subarray(2)]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  return { publicKey, signer: feedSigner(privateKey, publicKey) };
}

/** The octets without their checksum; null when it is wrong, or they are not this many. */
function checked(text: string, length: number): Buffer | null {
  const octets = base32(text);
  if (octets === null || octets.length !== length + CRC_OCTETS) return null;
  const content = octets.subarray(0, length);
  return octets.readUInt16LE(length) === crc16(content) ? content : null;
}

function base32(text: string): Buffer | null {
  const out: number[] = [];
  let [bits, count] = [0, 0];
  for (const character of text) {
    const value = ALPHABET.indexOf(character);
    if (value < 0) return null;
    bits = ((bits << 5) | value) & 0xfff;
    count += 5;
    if (count < 8) continue;
    count -= 8;
    out.push((bits >> count) & 0xff);
  }
  // Bits that are left over are zero: a key has one spelling.
  return (bits & ((1 << count) - 1)) === 0 ? Buffer.from(out) : null;
}

/** CRC-16/XMODEM: polynomial 0x1021, first value 0. */
function crc16(octets: Uint8Array): number {
  let crc = 0;
  for (const octet of octets) {
    crc ^= octet << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}

/** The key by which an end identifies itself to NATS. */
interface Nkey {
  /** `U…`: stands in the broker's configuration. */
  readonly publicKey: string;
  /** `SU…`: secret. */
  readonly seed: string;
}

export async function makeNkey(): Promise<Nkey> {
  const { nkeys } = await import('@nats-io/transport-node');
  const pair = nkeys.createUser();
  return { publicKey: pair.getPublicKey(), seed: Buffer.from(pair.getSeed()).toString('latin1') };
}
