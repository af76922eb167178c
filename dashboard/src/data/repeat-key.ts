import { encodeHex } from '../../../src/protocol/encodings.ts';

/**
 * Idempotency keys of one form. The same content has the same key, so a second try after a lost answer gets the first answer, secrets
 * included, and makes nothing twice. Another content has another key.
 */
export function createRepeatKeys(): (content: unknown) => string {
  let last = { text: '', key: '' };
  return (content) => {
    const text = JSON.stringify(content) ?? '';
    if (last.key === '' || last.text !== text) last = { text, key: randomKey() };
    return last.key;
  };
}

/** 128 random bits. `crypto.randomUUID` is not there on pages without TLS. */
function randomKey(): string {
  return encodeHex(crypto.getRandomValues(new Uint8Array(16)));
}
