import { createHash } from 'node:crypto';
import { type AppError, malformed } from '../../base/errors.ts';
import { isJsonObject, shownName } from './fields.ts';

/** As the HTTP server parsed them: a repeated parameter is an array. */
export type QueryParameters = Readonly<Record<string, unknown>>;

/** Checks the names of the parameters. @throws AppError 400 for one that is not in `known` or is repeated */
export function readParameters(
  query: QueryParameters,
  known: readonly string[],
): Readonly<Record<string, string>> {
  for (const [index, [name, text]] of Object.entries(query).entries()) {
    if (!known.includes(name)) {
      throw badParameter(shownName(name, 'parameter', index + 1), 'is not a known parameter');
    }
    if (typeof text !== 'string') throw badParameter(name, 'is given more than once');
  }
  return query as Readonly<Record<string, string>>;
}

/** Description of a parameter `limit`. @param rows such as `Datasets` */
export function limitParameter(rows: string, fallback: number, max: number) {
  return {
    schema: { type: 'integer', minimum: 1, maximum: max, default: fallback },
    description: `${rows} of a page`,
  } as const;
}

/** @param text of the parameter `limit`. @throws AppError 400 */
export function readLimit(text: string | undefined, fallback: number, max: number): number {
  if (text === undefined) return fallback;
  const limit = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= max) return limit;
  throw badParameter('limit', `is not a number from 1 to ${max}`);
}

export function badParameter(name: string, what: string): AppError {
  return malformed(400, `${name} ${what}`);
}

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

/**
 * Returns null for no cursor, or one of another listing. The caller checks the types: a client can forge fields. None has U+0000 or
 * half a character: PostgreSQL refuses a statement with the one, and each engine stores the other in its own way.
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
  if (!isJsonObject(fields) || fields.f !== fingerprint(listing)) return null;
  const isText = (field: string): boolean => field.isWellFormed() && !field.includes('\0');
  return Object.values(fields).every((field) => typeof field !== 'string' || isText(field)) ? fields : null;
}

function fingerprint(listing: unknown): string {
  return createHash('sha256').update(JSON.stringify(listing)).digest('base64url').slice(0, 16);
}
