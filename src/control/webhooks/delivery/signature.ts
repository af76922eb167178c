import { createHmac } from 'node:crypto';

/**
 * `t=<seconds>,v1=<hex>`: HMAC-SHA256 over `<seconds>.` and the body (docs/WEBHOOKS.md).
 * @param signingSecret 64 hexadecimal letters; the key is their ASCII octets, not the 32 octets that they encode
 */
export function signatureHeader(body: Uint8Array, t: number, signingSecret: string): string {
  const mac = createHmac('sha256', Buffer.from(signingSecret, 'ascii')).update(`${t}.`).update(body);
  return `t=${t},v1=${mac.digest('hex')}`;
}
