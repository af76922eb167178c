import type { Schema } from '../../protocol/input/schema.ts';

/** A value for the schema, made from the first example of each of its parts. Undefined: there is none. */
export function exampleOf(schema: Schema): unknown {
  const { examples, enum: values, properties, items, default: fallback } = schema;
  if (Array.isArray(examples)) return examples[0];
  if ('const' in schema) return schema.const;
  if (isSchema(properties)) return exampleObject(properties, asList(schema.required));
  if (isSchema(items)) return asList([exampleOf(items)]).filter((item) => item !== undefined);
  if (fallback !== undefined) return fallback;
  if (Array.isArray(values)) return values[0];
  const choice = asList(schema.anyOf ?? schema.oneOf)[0];
  return isSchema(choice) ? exampleOf(choice) : exampleOfType(schema);
}

/** For a type without more rules. Others need `examples`. */
const OF_TYPE: Readonly<Record<string, unknown>> = {
  string: 'text',
  integer: 1,
  number: 1,
  boolean: true,
  array: [],
  object: {},
};

function exampleOfType({ type, minimum }: Schema): unknown {
  if (typeof minimum === 'number') return minimum;
  return typeof type === 'string' ? OF_TYPE[type] : undefined;
}

/** Optional fields are there when they have an example of their own. */
function exampleObject(
  properties: Readonly<Record<string, unknown>>,
  required: readonly unknown[],
): Readonly<Record<string, unknown>> {
  const shown = Object.entries(properties).flatMap(([name, property]) => {
    if (!isSchema(property) || !(required.includes(name) || hasExample(property))) return [];
    return [[name, exampleOf(property)] as const];
  });
  return Object.fromEntries(shown);
}

function hasExample(schema: Schema): boolean {
  return Array.isArray(schema.examples) || isSchema(schema.properties) || isSchema(schema.items);
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
