import { LIMITS } from '../../base/limits.ts';
import { envelopeHead } from '../../protocol/query/envelope.ts';
import { FOREVER, type Outcome } from '../../protocol/query/outcome.ts';

/** Of the record and of the envelope's hint, seconds. */
export const INFO_TTL = 3600;

const NOT_ASCII = /[^\x20-\x7e]/g;

/**
 * A value as JSON in one TXT record. Neither the JSON nor the record may exceed 3,500 bytes; a greater one is SERVFAIL, and
 * `GET /schema` is for it.
 */
export function infoOutcome(value: object): Outcome {
  return plainOutcome('json', asciiJson(value));
}

/** The envelope of a text in printable ASCII. */
export function plainText(format: 'json' | 'text', value: string): string {
  return `${envelopeHead('plain', format, INFO_TTL)}${value}`;
}

export function plainOutcome(format: 'json' | 'text', value: string): Outcome {
  const text = Buffer.from(plainText(format, value), 'latin1');
  if (text.length > LIMITS.txtValue) return { kind: 'failed', cause: 'too-large' };
  return { kind: 'answer', text, ttl: INFO_TTL, until: FOREVER };
}

/** JSON in ASCII alone, as `e=plain` needs it. */
function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    NOT_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
