import { invalid } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { TIMESTAMP } from '../../base/time.ts';
import { Faults, Fields, hasAtMost, isOneLine, type JsonObject } from './fields.ts';
import { arrayOf, type ObjectSchema, type Schema } from './schema.ts';

/** Reads one value, and says by JSON Schema what it accepts. */
export interface Reader<T, C = unknown> {
  readonly schema: Schema;
  /** Reads a field that is present. Undefined: it is faulty, and the fault is recorded. */
  readonly read: (fields: Fields, name: string, context: C) => T | undefined;
}

/** A field of a shape. `read` is called also when the field is absent. */
export interface Field<T, C = unknown, R extends boolean = boolean> extends Reader<T, C> {
  readonly required: R;
}

// biome-ignore lint/suspicious/noExplicitAny: the context is a parameter, so only `any` holds every field
type AnyFields = Readonly<Record<string, Field<unknown, any>>>;

/** What all readers of the fields need together: the clock, the zone, the actor. */
type ContextOf<F> = F extends Readonly<Record<string, Field<unknown, infer C>>> ? C : never;

/** Values that were read while faults may have been recorded. */
export type Read<F> = { readonly [K in keyof F]: F[K] extends Field<infer T, never> ? T | undefined : never };

/** Values of a body without faults. */
export type Parsed<F> = {
  readonly [K in keyof F]: F[K] extends Field<infer T, never, infer R>
    ? true extends R
      ? T
      : T | undefined
    : never;
};

/** The fields of a JSON object: one description that reads a body and prints its JSON Schema. */
export interface Shape<F> {
  readonly schema: ObjectSchema;
  /** Reads every field, in the order of the shape. @param at as for `Fields` */
  readonly read: (object: JsonObject, context: ContextOf<F>, faults: Faults, at?: string) => Read<F>;
  /** Null when there is a fault, which is recorded. */
  readonly readWhole: (
    object: JsonObject,
    context: ContextOf<F>,
    faults: Faults,
    at?: string,
  ) => Parsed<F> | null;
  /** @throws AppError 422 with every fault */
  readonly parse: (object: JsonObject, context: ContextOf<F>) => Parsed<F>;
}

interface ShapeOptions {
  /** Keywords beside the fields, such as which of them exclude each other. */
  readonly rules?: Schema;
  /** Names the resource of a PATCH, which must have at least one of the fields. */
  readonly atLeastOneOf?: string;
  /** Fields of the resource that a PATCH cannot change: their message says so. */
  readonly fixed?: readonly string[];
}

/** Make it once per process. @param title names the schema in the OpenAPI document */
export function shape<const F extends AnyFields>(
  title: string,
  table: F,
  { rules = {}, atLeastOneOf, fixed = [] }: ShapeOptions = {},
): Shape<F> {
  const rows = Object.entries(table);
  const names = rows.map(([name]) => name);
  const read = (object: JsonObject, context: ContextOf<F>, faults: Faults, at = ''): Read<F> => {
    const fields = new Fields(object, names, faults, at, fixed);
    const values: Record<string, unknown> = {};
    for (const [name, field] of rows) values[name] = field.read(fields, name, context);
    if (atLeastOneOf !== undefined && Object.keys(object).length === 0) {
      faults.add(`${atLeastOneOf} must have one of ${names.join(', ')}`);
    }
    return values as Read<F>;
  };
  const readWhole: Shape<F>['readWhole'] = (object, context, faults, at) => {
    const before = faults.count;
    const values = read(object, context, faults, at);
    return faults.count === before ? (values as Parsed<F>) : null;
  };
  return {
    schema: {
      title,
      type: 'object',
      properties: Object.fromEntries(rows.map(([name, { schema }]) => [name, schema])),
      required: rows.filter(([, { required }]) => required).map(([name]) => name),
      additionalProperties: false,
      ...(atLeastOneOf !== undefined && { minProperties: 1 }),
      ...rules,
    },
    read,
    readWhole,
    parse(object, context) {
      const faults = new Faults();
      const values = readWhole(object, context, faults);
      if (values === null) throw invalid(...faults.messages);
      return values;
    },
  };
}

export function required<T, C = unknown>({ schema, read }: Reader<T, C>): Field<T, C, true> {
  return {
    required: true,
    schema,
    read(fields, name, context) {
      if (fields.has(name)) return read(fields, name, context);
      fields.fault(name, 'is required');
      return undefined;
    },
  };
}

export function optional<T, C = unknown>({ schema, read }: Reader<T, C>): Field<T, C, false> {
  return {
    required: false,
    schema,
    read: (fields, name, context) => (fields.has(name) ? read(fields, name, context) : undefined),
  };
}

/** An object inside the body. Its faults have its path in front. */
export function nested<F>({ schema, read }: Shape<F>): Reader<Read<F>, ContextOf<F>> {
  return {
    schema,
    read(fields, name, context) {
      const object = fields.object(name);
      return object && read(object, context, fields.faults, fields.label(name));
    },
  };
}

/** The schema of a body that has one resource under its name: `{"record": {...}}`. */
export function enveloped(name: string, schema: Schema): ObjectSchema {
  return { type: 'object', properties: { [name]: schema }, required: [name], additionalProperties: false };
}

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
