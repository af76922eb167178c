/** Readers of the fields of a Change. Each returns a typed value, or throws a FieldFault that names the field. */

import { LIMITS } from '../../base/limits.ts';
import type { Change, ChangeBody, ChangeCause } from '../change.ts';

type FieldOf<C> = C extends unknown ? keyof C & string : never;
type Field = Exclude<FieldOf<Change> | FieldOf<ChangeBody>, 'type'> | 'body';

/** An unreadable field. Holds no value, so that no customer data reaches a log. */
export class FieldFault extends Error {
  readonly field: Field;

  constructor(field: Field) {
    super(field);
    this.field = field;
  }
}

/** Characters of an id: UUIDs have 36. */
const ID_MAX = 64;
/** Resource, namespace and version. */
const KEY_LABELS_MIN = 3;
const LABEL = /^[a-z0-9-]+$/;
const DIGEST = /^[0-9a-f]{64}$/;
const CAUSES: ReadonlySet<unknown> = new Set<ChangeCause>(['direct', 'cascade', 'expiry']);

export function causeOf(value: unknown): ChangeCause {
  if (!CAUSES.has(value)) throw new FieldFault('cause');
  return value as ChangeCause;
}

/** An integer from 0 to 2^53 - 1. */
export function count(field: Field, value: unknown): number {
  return integer(field, value, Number.MAX_SAFE_INTEGER);
}

/** Milliseconds since the epoch, up to the end of the year 9999. */
export function time(field: Field, value: unknown): number {
  return integer(field, value, LIMITS.expiresAtMax);
}

export function timeOrNull(field: Field, value: unknown): number | null {
  return value === null ? null : time(field, value);
}

export function ttl(field: Field, value: unknown): number {
  return integer(field, value, LIMITS.ttlSecondsMax);
}

/** Seconds, at least one. */
export function openTtl(field: Field, value: unknown): number {
  return integer(field, value, LIMITS.openTtlMax, 1);
}

export function integer(field: Field, value: unknown, max: number, min = 0): number {
  if (!Number.isSafeInteger(value)) throw new FieldFault(field);
  const number = value as number;
  if (number < min || number > max) throw new FieldFault(field);
  return number;
}

export function boolean(field: Field, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new FieldFault(field);
  return value;
}

/** At least one character, at most `max`. */
export function text(field: Field, value: unknown, max: number): string {
  if (typeof value !== 'string' || value === '' || value.length > max) throw new FieldFault(field);
  return value;
}

export function id(field: Field, value: unknown): string {
  return text(field, value, ID_MAX);
}

/** One label of a DNS name in lower case. */
export function label(field: Field, value: unknown): string {
  const found = text(field, value, LIMITS.label);
  if (!LABEL.test(found)) throw new FieldFault(field);
  return found;
}

/** Lower-case hex SHA-256. */
export function digest(field: Field, value: unknown): string {
  if (typeof value !== 'string' || !DIGEST.test(value)) throw new FieldFault(field);
  return value;
}

export function nothing(field: Field, value: unknown): void {
  if (value !== null) throw new FieldFault(field);
}

/**
 * A record's key in this namespace: a key of another one would write where its owner has no right. Does not allocate,
 * since a replay calls it once a change.
 * @param ends version, namespace and resource as far as known: the last labels of the key, from the right
 */
export function recordKey(
  value: unknown,
  ends: readonly [version: unknown, namespace: unknown, resource?: unknown],
): string {
  const key = text('key', value, LIMITS.queryName);
  let labels = 0;
  let end = key.length;
  for (let i = key.length - 1; i >= -1; i--) {
    const code = i < 0 ? DOT : key.charCodeAt(i);
    if (code !== DOT) {
      if (!isLabelCode(code)) throw new FieldFault('key');
      continue;
    }
    const length = end - i - 1;
    if (length === 0 || length > LIMITS.label || !isSame(ends[labels], key, i + 1, length))
      throw new FieldFault('key');
    labels++;
    end = i;
  }
  if (labels < KEY_LABELS_MIN) throw new FieldFault('key');
  return key;
}

/** Whether this label of the key is the expected one; undefined matches any. */
function isSame(expected: unknown, key: string, at: number, length: number): boolean {
  if (expected === undefined) return true;
  return typeof expected === 'string' && expected.length === length && key.startsWith(expected, at);
}

const DOT = 0x2e;
const HYPHEN = 0x2d;

function isLabelCode(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === HYPHEN;
}
