/**
 * Ed25519 signatures (RFC 8032) over whole messages. A message names its signer by 8 octets, so that a node with two
 * public keys, during a rotation, tries one. Each kind of message begins with other octets, so that none passes for another.
 */
import { createHash, type KeyObject, sign, verify } from 'node:crypto';
import { FeedRefusedError } from './refusal.ts';

const SIGNATURE_OCTETS = 64;
const SIGNER_OCTETS = 8;

export interface FeedSigner {
  readonly id: Uint8Array;
  /** The message followed by its signature. */
  sign(message: Uint8Array): Uint8Array;
}

/** @param privateKey Ed25519 */
export function feedSigner(privateKey: KeyObject, publicKey: KeyObject): FeedSigner {
  return {
    id: signerId(publicKey),
    sign: (message) => Buffer.concat([message, sign(null, message, privateKey)]),
  };
}

export interface FeedVerifier {
  /**
   * Splits off the signature and checks it.
   * @param signerOf reads the signer's id from a message that nobody has verified yet
   * @returns the message without its signature
   * @throws FeedRefusedError `size`, `signer` or `signature`, or what `signerOf` throws
   */
  open(signed: Uint8Array, signerOf: (message: Uint8Array) => Uint8Array): Uint8Array;
}

/** @param publicKeys Ed25519: the present key, and the next or former one */
export function feedVerifier(publicKeys: readonly KeyObject[]): FeedVerifier {
  const keys = new Map(publicKeys.map((key) => [hex(signerId(key)), key]));
  return {
    open(signed, signerOf) {
      if (signed.length <= SIGNATURE_OCTETS) throw new FeedRefusedError('size');
      const message = signed.subarray(0, signed.length - SIGNATURE_OCTETS);
      const key = keys.get(hex(signerOf(message)));
      if (key === undefined) throw new FeedRefusedError('signer');
      if (!verify(null, message, key, signed.subarray(message.length)))
        throw new FeedRefusedError('signature');
      return message;
    },
  };
}

function signerId(publicKey: KeyObject): Uint8Array {
  const raw = publicKey.export({ format: 'der', type: 'spki' });
  return createHash('sha256').update(raw).digest().subarray(0, SIGNER_OCTETS);
}

function hex(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}
