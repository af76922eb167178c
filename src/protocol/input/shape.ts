import { invalid } from '../../base/errors.ts';
import { Faults, Fields, type JsonObject } from './fields.ts';
import type { ObjectSchema, Schema } from './schema.ts';

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
export type ContextOf<F> = F extends Readonly<Record<string, Field<unknown, infer C>>> ? C : never;

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
