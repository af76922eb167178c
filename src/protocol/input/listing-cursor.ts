import { createHash } from 'node:crypto';
import { isJsonObject } from './fields.ts';

/** A longer text is not a cursor of this server. */
const BASE64URL = /^[A-Za-z0-9_-]{1,512}$/;

export const CURSOR_SCHEMA = { type: 'string', pattern: BASE64URL.source } as const;

/**
 * Encodes the position after which the next page begins. A cursor is bound to its listing: with other filters it would skip rows.
 * @param position the sort key of the last row, under short names other than `f`
 * @param listing identifies the listing, filters included
 */
export function encodeListingCursor(
  position: Readonly<Record<string, string | number>>,
  listing: unknown,
): string {
  const fields = { ...position, f: fingerprint(listing) };
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** Returns null for no cursor, or one of another listing. The caller checks the types: a client can forge fields. */
export function decodeListingCursor(
  text: string,
  listing: unknown,
): Readonly<Record<string, unknown>> | null {
  if (!BASE64URL.test(text)) return null;
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
  return isJsonObject(fields) && fields.f === fingerprint(listing) ? fields : null;
}

function fingerprint(listing: unknown): string {
  return createHash('sha256').update(JSON.stringify(listing)).digest('base64url').slice(0, 16);
}
