import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { KeyPair } from '../../../../src/feed/message/hpke.ts';
import { type FeedKey, type FeedSigner, feedKey, feedSigner } from '../../../../src/feed/message/keys.ts';

/** PKCS#8 in front of a raw private key (RFC 8410 §7). */
const ED25519 = '302e020100300506032b657004220420';
const X25519 = '302e020100300506032b656e04220420';

function pair(prefix: string, secret: Uint8Array): KeyPair {
  const key = Buffer.concat([Buffer.from(prefix, 'hex'), secret]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** @param secret 32 octets */
export function signingKey(secret: Uint8Array): KeyObject {
  return pair(ED25519, secret).privateKey;
}

/** @param fill octet that the private key is made of */
export function signingKeys(fill: number): { signer: FeedSigner; publicKey: KeyObject } {
  const { privateKey, publicKey } = pair(ED25519, Buffer.alloc(32, fill));
  return { signer: feedSigner(privateKey, publicKey), publicKey };
}

export function nodeKeys(fill: number): KeyPair {
  return x25519Keys(Buffer.alloc(32, fill));
}

/** @param secret 32 octets */
export function x25519Keys(secret: Uint8Array): KeyPair {
  return pair(X25519, secret);
}

export function hourKey(fill: number): FeedKey {
  return feedKey(Buffer.alloc(32, fill));
}

/** Nonces that are the same in each run, each used once. */
export function countingNonces(): (octets: number) => Uint8Array {
  let count = 0;
  return (octets) => {
    const nonce = Buffer.alloc(octets);
    nonce.writeUInt32BE(++count);
    return nonce;
  };
}
