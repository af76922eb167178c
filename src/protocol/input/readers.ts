import { LIMITS } from '../../base/limits.ts';
import { TIMESTAMP } from '../../base/text/time.ts';
import { hasAtMost, isOneLine } from './fields.ts';
import { arrayOf, type Schema } from './schema.ts';
import type { Reader } from './shape.ts';

interface HasNow {
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Any string. @param schema what is known of it beside its type */
export function textOf(schema: Schema = {}): Reader<string> {
  return { schema: { type: 'string', ...schema }, read: (fields, name) => fields.text(name) };
}

/** A text of which `parse` makes the value. @param fault ends the message where it makes none */
export function parsedOf<T>(
  schema: Schema,
  parse: (text: string) => T | null | undefined,
  fault: string,
): Reader<T> {
  return {
    schema,
    read(fields, name) {
      const text = fields.text(name);
      if (text === undefined) return undefined;
      const value = parse(text) ?? undefined;
      if (value === undefined) fields.fault(name, fault);
      return value;
    },
  };
}

/** In plain ranges, which Python's `re` and RE2 read too: they know neither `\p{Cc}` nor `\u2028`. */
const ONE_LINE = '^[^\\x00-\\x1f\\x7f-\\x9f\u2028\u2029]+$';

/** A name that a person gives: one line of text. @param max Unicode code points */
export function nameOf(max: number, example: string): Reader<string> {
  return {
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: max,
      pattern: ONE_LINE,
      not: { pattern: '^\\s*$' },
      examples: [example],
    },
    read(fields, name) {
      const value = fields.text(name);
      if (value === undefined) return undefined;
      if (!isOneLine(value)) fields.fault(name, 'must be one line of text and not blank');
      else if (!hasAtMost(value, max)) fields.fault(name, `must have at most ${max} characters`);
      else return value;
      return undefined;
    },
  };
}

export function integerOf(minimum: number, maximum: number, more: Schema = {}): Reader<number> {
  return {
    schema: { type: 'integer', minimum, maximum, ...more },
    read: (fields, name) => fields.integer(name, minimum, maximum),
  };
}

export const BOOLEAN: Reader<boolean> = {
  schema: { type: 'boolean' },
  read: (fields, name) => fields.boolean(name),
};

/** At most `max` items; repeated ones are read once. @param only ends the message `must have only`, such as `strings` */
export function listOf<T>(
  max: number,
  is: (item: unknown) => item is T,
  only: string,
  items: Schema,
  more: Schema = {},
): Reader<readonly T[]> {
  return {
    schema: arrayOf(items, { maxItems: max, ...more }),
    read: (fields, name) => fields.listOf(name, max, is, only),
  };
}

/** A time after now, or null: never. In milliseconds since the epoch. */
export const FUTURE_TIME_OR_NULL: Reader<number | null, HasNow> = {
  schema: {
    type: ['string', 'null'],
    pattern: TIMESTAMP.source,
    description: `ISO 8601, in the future, at most ${new Date(LIMITS.expiresAtMax).toISOString()}. null: never`,
  },
  read: (fields, name, { now }) => (fields.isNull(name) ? null : fields.futureTime(name, now)),
};
