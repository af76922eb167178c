import { createHash } from 'node:crypto';
import { isJsonObject } from './fields.ts';

/** A cursor is at most so long: anything longer is not ours. */
const BASE64URL = /^[A-Za-z0-9_-]{1,512}$/;

/**
 * Encodes the position after which the next page of a listing begins, in base64url. The cursor is bound to the listing: with other
 * filters it would skip rows silently.
 *
 * @param position the sort key of the last row, under short names other than `f`
 * @param listing any JSON value that identifies what is listed, filters included
 */
export function encodeListingCursor(
  position: Readonly<Record<string, string | number>>,
  listing: unknown,
): string {
  const fields = { ...position, f: fingerprint(listing) };
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/**
 * Decodes a cursor that a client sent. The caller checks the types of the position's fields: a client can forge them.
 *
 * @returns null for text that is no cursor, and for a cursor of another listing
 */
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
