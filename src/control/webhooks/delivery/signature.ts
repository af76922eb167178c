import { createHmac } from 'node:crypto';

/**
 * The signature header of a delivery (docs/WEBHOOKS.md): `t=<seconds>,v1=<hex>`, where the hexadecimal is the HMAC-SHA256 of
 * `<seconds>.` followed by the body.
 *
 * @param body exactly the octets that are sent
 * @param t Unix time in whole seconds
 * @param signingSecret 64 hexadecimal letters; the key is their ASCII octets, not the 32 octets that they encode
 */
export function signatureHeader(body: Uint8Array, t: number, signingSecret: string): string {
  const mac = createHmac('sha256', Buffer.from(signingSecret, 'ascii')).update(`${t}.`).update(body);
  return `t=${t},v1=${mac.digest('hex')}`;
}
