import { fromBase64 } from '../shared/base64.ts';
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

const VERSION = 'svc1';

/**
 * Parses `key=value` fields with `;` between them. `d` is last and goes to the end: it may hold `;`.
 * @param text one character for each octet
 * @throws ServiceError for an error envelope, Unreadable for anything that is no envelope
 */
export function readEnvelope(text: string): Envelope {
  const { fields, payload } = split(text);
  if (fields.get('v') !== VERSION) throw new Unreadable('The answer is no envelope of version svc1');
  if (fields.get('t') === 'error' || fields.get('s') !== 'ok') throw serviceError(fields);
  const data = payload === null ? null : decode(fields.get('e'), payload);
  return { fields, format: fields.get('f') ?? null, ttlHint: integerOrNull(fields.get('ttl')), data };
}

function split(text: string): { fields: ReadonlyMap<string, string>; payload: string | null } {
  const fields = new Map<string, string>();
  let rest = text;
  while (rest !== '') {
    if (rest.startsWith('d=')) return { fields, payload: rest.slice(2) };
    const end = rest.indexOf(';');
    const field = end < 0 ? rest : rest.slice(0, end);
    const equals = field.indexOf('=');
    if (equals < 1) throw new Unreadable('The answer is no envelope');
    fields.set(field.slice(0, equals), decoded(field.slice(equals + 1)));
    rest = end < 0 ? '' : rest.slice(end + 1);
  }
  return { fields, payload: null };
}

function decoded(value: string): string {
  if (!value.includes('%')) return value;
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

function decode(encoding: string | undefined, payload: string): Uint8Array<ArrayBuffer> {
  if (encoding === 'plain') return Uint8Array.from(payload, (letter) => letter.charCodeAt(0));
  if (encoding !== 'b64') throw new Unreadable('The answer has an encoding that this version does not know');
  try {
    return fromBase64(payload);
  } catch {
    throw new Unreadable('The data of the answer is not Base64');
  }
}
