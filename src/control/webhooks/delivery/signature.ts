import { createHmac } from 'node:crypto';

/**
 * The signature of a delivery (specification, Events): `t=<seconds>,v1=<hex>`, where the hexadecimal is the HMAC-SHA256 of
 * `<seconds>.` and the body's octets.
 *
 * @param body the very octets that are sent
 * @param t Unix time in whole seconds
 * @param signingSecret 64 hexadecimal letters; their ASCII octets are the key, not the 32 octets that they spell
 */
export function signatureHeader(body: Uint8Array, t: number, signingSecret: string): string {
  const mac = createHmac('sha256', Buffer.from(signingSecret, 'ascii')).update(`${t}.`).update(body);
  return `t=${t},v1=${mac.digest('hex')}`;
}
