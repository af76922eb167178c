import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { LIMITS } from '../../../src/base/limits.ts';
import { infoOutcome } from '../../../src/dns/schema/info.ts';
import { parseQueryName } from '../../../src/protocol/names/query-name.ts';
import { ENVELOPE_ERRORS, parseEnvelope } from '../../../src/protocol/query/envelope.ts';
import type { Outcome } from '../../../src/protocol/query/outcome.ts';
import { decodeParam } from '../../../src/protocol/query/params.ts';
import { unescaped } from '../../../src/services/answers.ts';
import type { Service, ServiceDescription, ServiceSchema } from '../../../src/services/service.ts';

/** The time at which examples are made: 2026-01-01T00:00:00Z. */
export const NOW = Date.UTC(2026, 0, 1);

/** Fields that every envelope may have, which no service's schema describes. */
const ENVELOPE_FIELDS: ReadonlySet<string> = new Set(['v', 's', 't', 'e', 'f', 'ttl', 'ts']);

type Fields = Readonly<Record<string, string | number>>;

/** A strict validator for draft 2020-12 that accepts `example`, which this project adds. */
export function makeAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  ajv.addKeyword('example');
  return ajv;
}

const fieldAjv = makeAjv();
const validators = new WeakMap<ServiceSchema, ValidateFunction>();

function validatorOf(schema: ServiceSchema): ValidateFunction {
  const validate = validators.get(schema) ?? makeAjv().compile(schema);
  validators.set(schema, validate);
  return validate;
}

/** Parses a query name below the zone like `dns/schema/publish.ts` and calls the service. */
export async function askName(service: Service, name: string, now = NOW): Promise<Outcome> {
  const parsed = parseQueryName(name);
  assert.ok(parsed.kind === 'query', name);
  const { query } = parsed;
  assert.equal(query.operation, service.operation, name);
  const params = query.params.map((label) => decodeParam(label) ?? assert.fail(name));
  if (service.operation === 'geoip') params.push(query.resource);
  else assert.equal(query.resource, service.resource, name);
  return await service.answer(params, now);
}

/** The fields of a flat envelope, with numbers where the schema has numbers. Asserts that they validate. */
export function validFields(text: Uint8Array | string, schema: ServiceSchema): Fields {
  const latin1 = typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
  assert.match(latin1, /^v=svc1;s=ok;t=data;[\x20-\x7e]+$/);
  // An answer that never changes has no time, as its description says.
  assert.equal(/;ts=\d+$/.test(latin1), !schema.description.includes('has no ts'), latin1);
  const parsed = parseEnvelope(latin1);
  assert.ok(parsed, latin1);
  const fields: Record<string, string | number> = {};
  for (const [name, value] of parsed.fields) {
    if (ENVELOPE_FIELDS.has(name)) continue;
    const type = schema.properties[name]?.type;
    fields[name] = type === undefined || type === 'string' ? unescaped(value) : Number(value);
  }
  const validate = validatorOf(schema);
  assert.ok(validate(fields), `${latin1}: ${JSON.stringify(validate.errors)}`);
  const order = Object.keys(schema.properties).filter((name) => name in fields);
  assert.deepEqual(Object.keys(fields), order, 'fields come in the order of the schema');
  return fields;
}

export function answerFields(outcome: Outcome, about: ServiceDescription): Fields {
  assert.equal(outcome.kind, 'answer');
  assert.ok(outcome.kind === 'answer' && outcome.ttl <= about.ttl && outcome.text.length <= LIMITS.txtValue);
  return validFields(outcome.text, about.schema);
}

export function codeOf(outcome: Outcome): string | null {
  if (outcome.kind !== 'answer' && outcome.kind !== 'malformed') return null;
  if (outcome.text === undefined) return null;
  return parseEnvelope(Buffer.from(outcome.text).toString('latin1'))?.fields.get('code') ?? null;
}

/** Asserts the rules for every service's description. */
export function checkDescription({ resource, operation, about }: Service): void {
  const { schema, template, placeholders, examples, exampleResponse, errors } = about;
  const ajv = makeAjv();
  assert.ok(ajv.validateSchema(schema), JSON.stringify(ajv.errors));
  ajv.compile(schema);
  for (const [name, field] of Object.entries(schema.properties)) {
    assert.ok(!ENVELOPE_FIELDS.has(name), `${resource}: ${name} is a field of the envelope`);
    assert.ok(fieldAjv.validate(field, field.example), `${resource}: the example of ${name} is valid`);
  }
  assert.ok(schema.required.every((name) => name in schema.properties));
  assert.equal(schema.additionalProperties, false);

  const info = infoOutcome(schema);
  assert.equal(info.kind, 'answer', `${resource}: its schema fits in one record`);
  assert.match(JSON.stringify(about), /^[\x20-\x7e]+$/, `${resource}: ASCII`);

  const named = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  assert.deepEqual(new Set(Object.keys(placeholders)), new Set(named), `${resource}: placeholders`);
  assert.ok(template.startsWith(`${operation}.`));
  for (const name of examples) assert.equal(parseQueryName(name).kind, 'query', name);
  validFields(exampleResponse, schema);
  for (const { code, description, retryAfter } of errors) {
    assert.ok(code in ENVELOPE_ERRORS && description !== '');
    assert.equal(retryAfter !== undefined, code === 'E010');
  }
}
