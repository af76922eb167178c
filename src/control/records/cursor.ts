import { createHash } from 'node:crypto';
import { isJsonObject } from '../../core/input/fields.ts';

/** Where a page of a listing ended: namespace by name, then `created_at`, then id. */
export interface Place {
  readonly namespace: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly id: string;
}

const BASE64URL = /^[A-Za-z0-9_-]{1,512}$/;

/**
 * Spells the place after which the next page begins. Bound to the listing's filters: continued with others it would skip
 * records without a word.
 *
 * @param filters any JSON value that says what the listing is narrowed to
 */
export function encodeCursor(place: Place, filters: unknown): string {
  const fields = { n: place.namespace, c: place.createdAt, i: place.id, f: fingerprint(filters) };
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** @returns null for a cursor that is not ours, or of a listing with other filters */
export function decodeCursor(text: string, filters: unknown): Place | null {
  if (!BASE64URL.test(text)) return null;
  let fields: unknown;
  try {
    fields = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
  if (!isJsonObject(fields)) return null;
  const { n: namespace, c: createdAt, i: id, f } = fields;
  if (typeof namespace !== 'string' || typeof id !== 'string' || f !== fingerprint(filters)) return null;
  if (!Number.isSafeInteger(createdAt)) return null;
  return { namespace, createdAt: createdAt as number, id };
}

function fingerprint(filters: unknown): string {
  return createHash('sha256').update(JSON.stringify(filters)).digest('base64url').slice(0, 16);
}
