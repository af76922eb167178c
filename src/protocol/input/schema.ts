/** JSON Schema, draft 2020-12. An object schema with a `title` is a component of the OpenAPI document. */
export type Schema = Readonly<Record<string, unknown>>;

export interface ObjectSchema extends Schema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
}

type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];

type TypeName<T> = T extends string
  ? 'string'
  : T extends number
    ? 'integer' | 'number'
    : T extends boolean
      ? 'boolean'
      : T extends null
        ? 'null'
        : T extends readonly unknown[]
          ? 'array'
          : 'object';

/** A schema whose `type` is that of the TypeScript type; or a choice of schemas, which the compiler does not compare. */
type SchemaOf<T> =
  | ({ readonly type: TypeName<T> | readonly TypeName<T>[] } & Schema)
  | ({ readonly anyOf: readonly Schema[] } & Schema)
  | ({ readonly const: T } & Schema);

type PropertiesOf<T> = { readonly [K in keyof T]-?: SchemaOf<NonNullable<T[K]> | Extract<T[K], null>> };

/**
 * The schema of a resource. The compiler compares its fields with those of `T`.
 * @param optional the fields that are not always there
 */
export function resourceSchema<T extends object>(
  title: string,
  properties: PropertiesOf<T>,
  ...[optional]: [OptionalKeys<T>] extends [never] ? [] : [{ readonly [K in OptionalKeys<T>]: true }]
): ObjectSchema & { readonly properties: PropertiesOf<T> } {
  const isOptional = (name: string): boolean => optional !== undefined && Object.hasOwn(optional, name);
  return {
    title,
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !isOptional(name)),
  };
}

export function arrayOf(items: Schema, more: Schema = {}): Schema & { readonly type: 'array' } {
  return { type: 'array', items, ...more };
}

export const UUID = {
  type: 'string',
  format: 'uuid',
  examples: ['0198f3a0-5f0e-7c11-a2f4-3b1d2c9e8a77'],
} as const;

/** A time in an answer: UTC with milliseconds. */
export const TIME = {
  type: 'string',
  format: 'date-time',
  examples: ['2026-01-01T00:00:00.000Z'],
} as const;

export const TIME_OR_NULL = { ...TIME, type: ['string', 'null'] } as const;

export const COUNT = { type: 'integer', minimum: 0, examples: [3] } as const;

/** A secret of 32 octets in lower-case hexadecimal letters. */
export const HEX_SECRET = {
  type: 'string',
  pattern: '^[0-9a-f]{64}$',
  examples: ['0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0'],
} as const;
