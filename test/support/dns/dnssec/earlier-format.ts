import { createCipheriv, randomBytes } from 'node:crypto';
import type { KeySetData } from '../../../../src/dns/dnssec/key-set.ts';

/** A key set of format 1: only zone and key tag are authenticated. @param key 32 octets */
export function earlierDocument({ zone, keys }: KeySetData, key: Uint8Array): string {
  const encrypted = keys.map(({ privateKey, ...facts }) => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 });
    cipher.setAAD(Buffer.from(`${zone} ${facts.keyTag}`));
    const text = Buffer.concat([cipher.update(privateKey, 'utf8'), cipher.final()]);
    return { ...facts, sealed: Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64') };
  });
  return JSON.stringify({ version: 1, zone, keys: encrypted });
}
