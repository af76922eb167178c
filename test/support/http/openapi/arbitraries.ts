import fc from 'fast-check';
import { type Json, type OpenApi, resolve } from './document.ts';

/** Items of a generated array; a schema may allow more. */
const ITEMS_MAX = 4;
const TEXT_MAX = 40;

/** Field names that a client must never be able to set. */
const FOREIGN_FIELDS = [
  'id',
  'customer_id',
  'user_id',
  'owner',
  'tier',
  'role',
  'public_read',
  'records_count',
  'token',
];
const PROTOTYPE_FIELDS = ['__proto__', 'constructor', 'toString'];

/** Values that are meant to be valid. Some are not: the caller filters them by the schema. */
export function valid(document: OpenApi, reference: Json): fc.Arbitrary<unknown> {
  const schema = resolve<Json>(document, reference);
  const { type, const: constant, enum: values, examples, properties, items, anyOf } = schema;
  if (constant !== undefined) return fc.constant(constant);
  if (Array.isArray(values)) return fc.constantFrom(...values);
  const kind = Array.isArray(type) ? type[0] : type;
  const made = ((): fc.Arbitrary<unknown> => {
    if (Array.isArray(anyOf) && properties === undefined) {
      return fc.oneof(...anyOf.map((choice) => valid(document, choice)));
    }
    if (kind === 'object') return validObject(document, schema);
    if (kind === 'array') {
      const maxLength = Math.min(Number(schema.maxItems ?? ITEMS_MAX), ITEMS_MAX);
      return fc.array(valid(document, (items ?? {}) as Json), {
        minLength: Number(schema.minItems ?? 0),
        maxLength,
      });
    }
    if (kind === 'integer' || kind === 'number') return validInteger(schema);
    if (kind === 'boolean') return fc.boolean();
    if (kind === 'null') return fc.constant(null);
    return validText(schema);
  })();
  const known = Array.isArray(examples) ? [fc.constantFrom(...examples)] : [];
  const none = Array.isArray(type) && type.includes('null') ? [fc.constant(null)] : [];
  return fc.oneof({ weight: 3, arbitrary: made }, ...known, ...none);
}

function validObject(document: OpenApi, { properties = {}, required = [] }: Json): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties as Json).map(
    ([name, field]) => [name, valid(document, field as Json)] as const,
  );
  return fc.record(Object.fromEntries(fields), { requiredKeys: required as string[] });
}

function validInteger({ minimum, maximum }: Json): fc.Arbitrary<number> {
  const min = Number(minimum ?? -1000);
  const max = Math.min(Number(maximum ?? 1000), Number.MAX_SAFE_INTEGER);
  return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max));
}

/** Half of the texts are an example of the field: a pattern does not say all that makes a URL or a name acceptable. */
function validText(field: Json): fc.Arbitrary<string> {
  const examples = ((field.examples ?? []) as unknown[]).filter((one) => typeof one === 'string');
  const made = madeText(field);
  return examples.length === 0 ? made : fc.oneof(made, fc.constantFrom(...examples));
}

function madeText({ format, pattern, minLength = 0, maxLength }: Json): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (typeof pattern === 'string') {
    const matching = matchingText(pattern);
    if (matching !== null) return matching;
  }
  const limit = Math.min(Number(maxLength ?? TEXT_MAX), TEXT_MAX);
  return fc.string({ unit: 'grapheme', minLength: Number(minLength), maxLength: limit });
}

/** Null: the generator does not know the syntax of the pattern. */
function matchingText(pattern: string): fc.Arbitrary<string> | null {
  try {
    return fc.stringMatching(new RegExp(pattern), { size: 'xsmall' });
  } catch {
    return null;
  }
}

/** A value with one part exchanged, removed or added, anywhere in it. */
export function broken(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const exchange = fc.tuple(value, fc.nat(), odd()).map(([whole, at, part]) => {
    const copy = structuredClone(whole);
    const places = placesOf(copy);
    if (places.length === 0) return part;
    const [holder, key] = places[at % places.length]!;
    holder[key] = part;
    return copy;
  });
  const remove = fc.tuple(value, fc.nat()).map(([whole, at]) => {
    const copy = structuredClone(whole);
    const places = placesOf(copy);
    if (places.length === 0) return undefined;
    const [holder, key] = places[at % places.length]!;
    delete holder[key];
    return copy;
  });
  const add = fc
    .tuple(value, fc.nat(), fc.constantFrom(...FOREIGN_FIELDS), odd())
    .map(([whole, at, name, part]) => {
      const copy = structuredClone(whole);
      const holders = [copy, ...placesOf(copy).map(([holder, key]) => holder[key])].filter(isObject);
      if (holders.length > 0) holders[at % holders.length]![name] = part;
      return copy;
    });
  return fc.oneof(exchange, remove, add);
}

/** Any JSON value, some deep and some long. */
export function odd(): fc.Arbitrary<unknown> {
  const field = fc.oneof(fc.string(), fc.constantFrom(...FOREIGN_FIELDS, ...PROTOTYPE_FIELDS));
  return fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, true, 0, -1, 1.5, 1e308, '', '0', [], {}, '\u0000', '\ud800', 'x'.repeat(5000)),
    fc.dictionary(field, fc.jsonValue(), { maxKeys: 3 }),
    fc.integer({ min: 1, max: 300 }).map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth))),
  );
}

type Holder = Record<string, unknown>;

/** Every field and item inside a value. */
function placesOf(value: unknown): [Holder, string][] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Holder;
  return Object.keys(holder).flatMap((key) => [[holder, key] as [Holder, string], ...placesOf(holder[key])]);
}

function isObject(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
