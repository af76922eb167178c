import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { SecretSeal } from '../ports.ts';

const CIPHER = 'aes-256-gcm';
const KEY = 32;
/** The one length that GCM takes as it is (NIST SP 800-38D §8.2). */
const NONCE = 12;
const TAG = 16;

/** Secrets that stay open for the next delivery: opening one costs as much as signing with it. The key is in memory as well. */
const OPENED_MAX = 1000;

/** The first octet says how the rest is laid out: nonce, ciphertext, tag. */
const LAYOUT = 1;

/**
 * Seals with AES-256-GCM. The webhook's id is authenticated with the secret: octets moved to another row do not open. A
 * random nonce of 96 bits is enough for 2^32 secrets under one key (NIST SP 800-38D §8.3).
 *
 * @param key 32 octets of nothing else's use
 * @param random cryptographically secure
 * @param openedMax opened secrets that stay in memory
 */
export function aesSeal(
  key: Uint8Array,
  random: (bytes: number) => Uint8Array,
  openedMax = OPENED_MAX,
): SecretSeal {
  if (key.length !== KEY) throw new Error('the sealing key has a wrong length');
  const opened = new Map<string, { readonly sealed: Uint8Array; readonly secret: string }>();

  function unseal(webhookId: string, sealed: Uint8Array): string {
    if (sealed[0] !== LAYOUT || sealed.length < 1 + NONCE + TAG) {
      throw new Error('the sealed secret has an unknown layout');
    }
    const nonce = sealed.subarray(1, 1 + NONCE);
    const tag = sealed.subarray(sealed.length - TAG);
    const cipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG });
    cipher.setAAD(Buffer.from(webhookId, 'utf8'));
    cipher.setAuthTag(tag);
    const secret = cipher.update(sealed.subarray(1 + NONCE, sealed.length - TAG));
    return Buffer.concat([secret, cipher.final()]).toString('utf8');
  }

  return {
    seal(webhookId, signingSecret) {
      const nonce = random(NONCE);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG });
      cipher.setAAD(Buffer.from(webhookId, 'utf8'));
      const sealed = Buffer.concat([cipher.update(signingSecret, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(LAYOUT), nonce, sealed, cipher.getAuthTag()]);
    },
    open(webhookId, sealed) {
      const known = opened.get(webhookId);
      if (known !== undefined && Buffer.compare(known.sealed, sealed) === 0) return known.secret;
      const secret = unseal(webhookId, sealed);
      if (opened.size >= openedMax) opened.clear();
      if (openedMax > 0) opened.set(webhookId, { sealed: Uint8Array.from(sealed), secret });
      return secret;
    },
  };
}
