import { ENVELOPE_VERSION } from '../../../src/base/brand.ts';
import { parseEnvelope } from '../../../src/protocol/query/envelope.ts';
import { ServiceError, Unreadable } from './errors.ts';

/** The decoded value of a TXT record (docs/PROTOCOL.md). */
export interface Envelope {
  /** All fields but `d`, percent-decoded. */
  readonly fields: ReadonlyMap<string, string>;
  /** Field `f`: `json`, `text`, `bin`, ...; null in computed answers. */
  readonly format: string | null;
  /** Field `ttl`: what the writer suggests, not the DNS TTL. */
  readonly ttlHint: number | null;
  /** Null in computed answers, which are fields only. */
  readonly data: Uint8Array<ArrayBuffer> | null;
}

/**
 * Parses `key=value` fields with `;` between them. `d` is last and goes to the end: it may hold `;`.
 * @param text one character for each octet
 * @throws ServiceError for an error envelope, Unreadable for anything that is no envelope
 */
export function readEnvelope(text: string): Envelope {
  const parsed = parseEnvelope(text);
  if (parsed?.fields.get('v') !== ENVELOPE_VERSION)
    throw new Unreadable(`The answer is no envelope of version ${ENVELOPE_VERSION}`);
  const fields = new Map<string, string>();
  for (const [name, value] of parsed.fields) if (name !== 'd') fields.set(name, decoded(value));
  if (fields.get('t') === 'error' || fields.get('s') !== 'ok') throw serviceError(fields);
  if (parsed.fields.has('d') && parsed.data === null)
    throw new Unreadable('The data of the answer cannot be decoded');
  const ttlHint = integerOrNull(fields.get('ttl'));
  return { fields, format: fields.get('f') ?? null, ttlHint, data: parsed.data };
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new Unreadable('The answer has a field that is not percent-encoded UTF-8');
  }
}

function serviceError(fields: ReadonlyMap<string, string>): ServiceError {
  const code = fields.get('code') ?? 'unknown';
  const message = fields.get('msg') ?? 'no message';
  return new ServiceError(
    code,
    fields.get('s') ?? 'error',
    message,
    integerOrNull(fields.get('retry_after')),
  );
}

function integerOrNull(text: string | undefined): number | null {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
}
