import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envelopeText } from '../../../test/support/envelope-text.ts';
import { allServices } from '../../../test/support/services/all-services.ts';
import { makeAjv, NOW } from '../../../test/support/services/check-service.ts';
import { createMemoryView } from '../../../test/support/view/memory-view.ts';
import { LIMITS } from '../../base/limits.ts';
import { parseQueryName } from '../../protocol/names/query-name.ts';
import { parseEnvelope } from '../../protocol/query/envelope.ts';
import type { Outcome } from '../../protocol/query/outcome.ts';
import { resolve } from '../query/resolve.ts';
import { makeSchemaApi, type SchemaDocument } from './http.ts';

import { INFO_TTL, infoOutcome } from './info.ts';
import { publish } from './publish.ts';

const ZONE = 'uqrp.net';
const services = allServices();
const published = publish(services);
const context = {
  view: createMemoryView(),
  access: { sync: true, demo: true },
  services: published,
};

async function ask(name: string, zone = ZONE): Promise<Outcome> {
  const parsed = parseQueryName(name);
  assert.ok(parsed.kind === 'query', name);
  return await resolve(parsed.query, context, NOW, zone).outcome;
}

function json(outcome: Outcome): Record<string, unknown> {
  assert.ok(outcome.kind === 'answer');
  assert.deepEqual([outcome.ttl, INFO_TTL], [3600, 3600]);
  const text = Buffer.from(outcome.text).toString('latin1');
  assert.ok(text.startsWith('v=svc1;s=ok;t=data;e=plain;f=json;ttl=3600;d={'), text.slice(0, 60));
  return JSON.parse(envelopeText(text)!);
}

test('info of every service is its schema, in one record', async () => {
  for (const { resource, about } of services) {
    assert.deepEqual(json(await ask(`info.${resource}.public.v1`)), about.schema);
  }
});

test('info.services lists what is enabled, each with a name that works', async () => {
  const list = json(await ask('info.services.public.v1')) as Record<string, string>;
  const enabled = services.filter((service) => service.enabled).map(({ resource }) => resource);
  assert.deepEqual(Object.keys(list), enabled);
  assert.ok(enabled.includes('units') && !enabled.includes('btc'));
  for (const name of Object.values(list)) {
    assert.ok(name.endsWith(`.${ZONE}`));
    assert.equal(parseQueryName(name.slice(0, -ZONE.length - 1)).kind, 'query', name);
  }
});

test('get.help and get.services.help tell the services in one short text, with names of the zone that was asked', async () => {
  for (const zone of [ZONE, 'uqrp.org']) {
    const outcome = await ask('get.help.public.v1', zone);
    assert.deepEqual(await ask('get.services.help.public.v1', zone), outcome);
    assert.ok(outcome.kind === 'answer' && outcome.ttl === 3600 && outcome.text.length <= LIMITS.txtValue);
    const text = Buffer.from(outcome.text).toString('latin1');
    assert.match(text, /^v=svc1;s=ok;t=data;e=plain;f=text;ttl=3600;d=[\x20-\x7e]+$/);
    for (const { resource, enabled, about } of services) {
      assert.equal(text.includes(`${resource}: ${about.examples[0]}.${zone}`), enabled, resource);
    }
    const list = json(await ask('info.services.public.v1', zone)) as Record<string, string>;
    assert.ok(Object.values(list).every((name) => name.endsWith(`.${zone}`)));
    const schema = json(await ask('info.help.public.v1', zone));
    assert.deepEqual(schema.required, ['d']);
    const { body } = api(`info.help.public.v1.${zone}`);
    assert.ok('dns_format' in body && body.dns_format.query_template === `get.help.public.v1.${zone}`);
    assert.equal(body.dns_format.example_response, text);
    assert.ok(body.http_format.curl_example.includes(`.${zone}&`));
  }
});

test('what has no schema, and what does not fit', async () => {
  for (const [name, kind] of [
    ['info.nothing.public.v1', 'empty'],
    ['info.units.public.v2', 'empty'],
    ['info.ip-8-8-8-8.public.v1', 'empty'],
    ['info.5-km-to-mi.units.public.v1', 'malformed'],
    ['get.services.public.v1', 'malformed'],
    ['get.weather.help.public.v1', 'malformed'],
    ['get.services.services.help.public.v1', 'malformed'],
    ['geoip.help.public.v1', 'malformed'],
    ['get.geoip.public.v1', 'malformed'],
    ['get.ip-8-8-8-8.geoip.public.v1', 'malformed'],
    ['get.ip-8-8-8-8.public.v1', 'empty'],
    ['manifest.units.public.v1', 'malformed'],
    ['get.b32-mfrg.units.public.v1', 'malformed'],
    ['get.b32-1.units.public.v1', 'malformed'],
    ['get.units.public.v2', 'empty'],
  ] as const) {
    assert.equal((await ask(name)).kind, kind, name);
  }
  // 5-km-to-mi
  assert.equal((await ask('get.hex-352d6b6d2d746f2d6d69.units.public.v1')).kind, 'answer');
});

test('answer and example of help fit its schema without the fields of every answer, those of services in d (L14 of the second audit)', async () => {
  const ofAll = new Set(['v', 's', 't', 'e', 'f', 'ttl']);
  for (const [resource, name] of [
    ['help', 'get.help.public.v1'],
    ['services', 'info.services.public.v1'],
  ] as const) {
    const { body } = api(`info.${resource}.public.v1.${ZONE}`);
    assert.ok('schema' in body);
    assert.match(body.schema.description, resource === 'help' ? /this is field d alone/ : /object in d/);
    const validate = makeAjv().compile(body.schema);
    const answer = await ask(name);
    assert.ok(answer.kind === 'answer');
    for (const text of [Buffer.from(answer.text).toString('latin1'), body.dns_format.example_response]) {
      const { fields } = parseEnvelope(text)!;
      const value =
        resource === 'services'
          ? JSON.parse(envelopeText(text)!)
          : Object.fromEntries([...fields].filter(([field]) => !ofAll.has(field)));
      assert.ok(validate(value), `${resource}: ${JSON.stringify(validate.errors)}`);
    }
  }
});

test('the limit of a schema over DNS, both sides', () => {
  const head = 'v=svc1;s=ok;t=data;e=plain;f=json;ttl=3600;d='.length;
  const sized = (octets: number) => ({ x: 'x'.repeat(octets - '{"x":""}'.length) });
  const fits = infoOutcome(sized(LIMITS.txtValue - head));
  assert.ok(fits.kind === 'answer' && fits.text.length === 3500);
  assert.deepEqual(infoOutcome(sized(LIMITS.txtValue - head + 1)), { kind: 'failed', cause: 'too-large' });
  assert.deepEqual(infoOutcome(sized(LIMITS.txtValue + 1)), { kind: 'failed', cause: 'too-large' });
});

test('a schema is ASCII over DNS, and the same JSON', () => {
  const value = { text: 'Zürich 東京 🌙 ; "quoted"' };
  const outcome = infoOutcome(value);
  assert.ok(outcome.kind === 'answer');
  assert.match(Buffer.from(outcome.text).toString('latin1'), /^[\x20-\x7e]+$/);
  assert.deepEqual(json(outcome), value);
});

const api = makeSchemaApi({ services, zones: [ZONE, 'uqrp.org'], dohUrl: () => 'https://doh.example' });

test('GET /schema serves the whole document', () => {
  const validate = makeAjv().compile(DOCUMENT);
  for (const resource of [...services.map((service) => service.resource), 'services', 'help']) {
    const { status, body } = api(`info.${resource}.public.v1.${ZONE}`);
    assert.equal(status, 200, resource);
    assert.ok(validate(body), `${resource}: ${JSON.stringify(validate.errors)}`);
    const document = body as SchemaDocument;
    assert.deepEqual([document.resource, document.resource_version], [resource, 'v1']);
    makeAjv().compile(document.schema);
    const { query_template, placeholders } = document.dns_format;
    for (const name of Object.keys(placeholders)) assert.ok(query_template.includes(`{${name}}`));
    assert.ok(query_template.endsWith(`.${ZONE}`));
    assert.equal(
      document.http_format.schema_endpoint,
      `https://doh.example/schema?q=info.${resource}.public.v1.${ZONE}`,
    );
    const codes = document.error_responses.map(({ code }) => code);
    assert.ok(codes.includes('E005') && new Set(codes).size === codes.length, resource);
  }
});

test('of q only resource, namespace and version count', () => {
  for (const q of [
    'info.units.public.v1.uqrp.net',
    'INFO.Units.public.V1.uqrp.net.',
    'get.5-km-to-mi.units.public.v1.uqrp.net',
    'get.no-such-thing.units.public.v1.uqrp.org',
    'manifest.a.b.c.units.public.v1.uqrp.net',
    'info.units.public.v1',
    'put.x.y.units.public.v1.uqrp.net',
    'anything.te_mp.-.units.public.v1.uqrp.net',
  ]) {
    const { status, body } = api(q);
    assert.ok(status === 200 && 'resource' in body && body.resource === 'units', q);
  }
  const { body } = api('geoip.ip-8-8-8-8.public.v1.uqrp.net');
  assert.ok('resource' in body && body.resource === 'geoip');
});

test('errors of GET /schema', () => {
  for (const [q, status, code] of [
    [null, 400, 'validation_error'],
    ['', 400, 'validation_error'],
    ['units', 400, 'validation_error'],
    ['units.public.v1.uqrp.net', 400, 'validation_error'],
    ['get..units.public.v1.uqrp.net', 400, 'validation_error'],
    [`get.${'a'.repeat(64)}.units.public.v1.uqrp.net`, 400, 'validation_error'],
    ['info.units.public.v0.uqrp.net', 400, 'validation_error'],
    ['info.units.public.v1.uqrp.com', 400, 'validation_error'],
    ['info.un its.public.v1.uqrp.net', 400, 'validation_error'],
    [`${'a.'.repeat(130)}units.public.v1.uqrp.net`, 400, 'validation_error'],
    ['info.units.acme.v1.uqrp.net', 403, 'authorization_error'],
    ['info.hello.playground.v1.uqrp.net', 403, 'authorization_error'],
    ['info.nothing.public.v1.uqrp.net', 404, 'not_found'],
    ['info.units.public.v2.uqrp.net', 404, 'not_found'],
    ['manifest.x.datasets.public.v1.uqrp.net', 404, 'not_found'],
  ] as const) {
    const reply = api(q);
    assert.equal(reply.status, status, String(q));
    assert.deepEqual(Object.keys(reply.body), ['error', 'code']);
    assert.ok('code' in reply.body && reply.body.code === code, String(q));
    assert.ok(q === null || q === '' || !JSON.stringify(reply.body).includes(q), 'nothing is echoed');
  }
});

const TEXT = { type: 'string', minLength: 1 } as const;

/** The fields of a schema document, and no others. */
const DOCUMENT = {
  type: 'object',
  additionalProperties: false,
  required: [
    'status',
    'version',
    'namespace',
    'resource',
    'resource_version',
    'schema',
    'meta',
    'dns_format',
    'http_format',
    'error_responses',
  ],
  properties: {
    status: { const: 'ok' },
    version: { const: 'svc1' },
    namespace: { const: 'public' },
    resource: TEXT,
    resource_version: { const: 'v1' },
    schema: {
      type: 'object',
      additionalProperties: false,
      required: [
        '$schema',
        '$id',
        'title',
        'description',
        'type',
        'additionalProperties',
        'properties',
        'required',
      ],
      properties: {
        $schema: { const: 'https://json-schema.org/draft/2020-12/schema' },
        $id: TEXT,
        title: TEXT,
        description: TEXT,
        type: { const: 'object' },
        additionalProperties: { const: false },
        properties: {
          type: 'object',
          additionalProperties: {
            type: 'object',
            properties: { type: TEXT, description: TEXT, example: {} },
            required: ['type', 'description', 'example'],
          },
        },
        required: { type: 'array', items: TEXT },
      },
    },
    meta: {
      type: 'object',
      additionalProperties: false,
      required: ['auth_required', 'rate_limit_tier', 'default_ttl'],
      properties: {
        auth_required: { type: 'boolean' },
        rate_limit_tier: TEXT,
        default_ttl: { type: 'integer', minimum: 0 },
      },
    },
    dns_format: {
      type: 'object',
      additionalProperties: false,
      required: ['query_template', 'placeholders', 'example_response'],
      properties: {
        query_template: TEXT,
        placeholders: {
          type: 'object',
          additionalProperties: {
            type: 'object',
            additionalProperties: false,
            required: ['type', 'examples'],
            properties: { type: TEXT, examples: { type: 'array', items: TEXT, minItems: 1 } },
          },
        },
        example_response: { type: 'string', pattern: '^v=svc1;s=ok;t=data;' },
      },
    },
    http_format: {
      type: 'object',
      additionalProperties: false,
      required: ['endpoint', 'curl_example', 'schema_endpoint'],
      properties: { endpoint: TEXT, curl_example: TEXT, schema_endpoint: TEXT },
    },
    error_responses: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['status', 'code', 'description'],
        properties: {
          status: TEXT,
          code: { type: 'string', pattern: '^E\\d{3}$' },
          description: TEXT,
          retry_after: { type: 'integer', minimum: 1 },
        },
      },
    },
  },
} as const;
