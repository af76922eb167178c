import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { breakingChanges } from '../../../test/support/http/openapi/breaking-changes.ts';

type Document = Parameters<typeof breakingChanges>[0];

const DOCS = new URL('../../../docs/', import.meta.url);

function read(name: string): Document {
  return JSON.parse(readFileSync(new URL(name, DOCS), 'utf8'));
}

describe('docs/openapi.json', () => {
  it('breaks no client of the last release (docs/openapi/released.json.gz)', () => {
    const released = gunzipSync(readFileSync(new URL('openapi/released.json.gz', DOCS)));
    assert.deepEqual(breakingChanges(JSON.parse(released.toString()), read('openapi.json')), []);
  });

  it('has every operation that docs/API.md and docs/api have in their tables, and the other way round', () => {
    const pages = ['API.md', ...readdirSync(new URL('api/', DOCS)).map((name) => `api/${name}`)];
    const page = pages.map((name) => readFileSync(new URL(name, DOCS), 'utf8')).join('\n');
    const inPage = new Set(
      [...page.matchAll(/^\|? ?`(GET|POST|PATCH|DELETE) (\/[^`\s]*)`/gm)].map(
        ([, method, path]) => `${method} ${path!.replace(/\?.*$/, '').replaceAll(/:(\w+)/g, '{$1}')}`,
      ),
    );
    const inDocument = Object.entries(read('openapi.json').paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    assert.deepEqual([...inPage].sort(), inDocument.sort());
  });
});

const BODY = {
  type: 'object',
  properties: { a: { type: 'string', enum: ['x', 'y'], maxLength: 9 } },
  required: [],
};
const SENT_BODY = { type: 'object', properties: { d: { type: 'string' } }, required: ['d'] };
const ANSWER = { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] };

function document(): Document {
  const content = (schema: object) => ({ content: { 'application/json': { schema } } });
  return structuredClone({
    paths: {
      '/things': {
        post: {
          security: [{ customerToken: [] }, { apiKey: [] }],
          parameters: [{ name: 'q', in: 'query', schema: { type: 'string' } }],
          requestBody: content({ $ref: '#/components/schemas/Body' }),
          responses: {
            200: content({ type: 'array', items: { $ref: '#/components/schemas/Answer' } }),
            404: {},
          },
        },
      },
    },
    webhooks: { 'thing.made': { post: { requestBody: content({ $ref: '#/components/schemas/Sent' }) } } },
    components: { schemas: { Body: BODY, Answer: ANSWER, Sent: SENT_BODY } },
  });
}

const AT = 'POST /things';
const SENT = 'webhook thing.made';

// biome-ignore lint/suspicious/noExplicitAny: each row changes one place of a plain document
type Change = (operation: any, schemas: any, paths: any, webhooks: any) => void;

const CHANGES: readonly (readonly [string, Change, readonly string[]])[] = [
  ['nothing', () => {}, []],
  ['an operation less', (_o, _s, paths) => delete paths['/things'], [`${AT}: the operation is gone`]],
  ['an operation more', (o, _s, paths) => Object.assign(paths, { '/more': { get: o } }), []],
  ['a status less', (o) => delete o.responses[404], [`${AT}: status 404 is gone`]],
  ['a status more', (o) => Object.assign(o.responses, { 409: {} }), []],
  [
    'a required field in the body',
    (_o, s) => s.Body.required.push('a'),
    [`${AT} body .a: the field is required`],
  ],
  [
    'a new required field in the body',
    (_o, s) => {
      s.Body.properties.c = { type: 'string' };
      s.Body.required.push('c');
    },
    [`${AT} body .c: the field is required`],
  ],
  ['a new optional field in the body', (_o, s) => Object.assign(s.Body.properties, { c: {} }), []],
  ['a field less in the body', (_o, s) => delete s.Body.properties.a, [`${AT} body .a: the field is gone`]],
  ['a value less', (_o, s) => s.Body.properties.a.enum.pop(), [`${AT} body .a: enum is narrower: y`]],
  ['a value more', (_o, s) => s.Body.properties.a.enum.push('z'), []],
  [
    'a smaller bound',
    (_o, s) => Object.assign(s.Body.properties.a, { maxLength: 8 }),
    [`${AT} body .a: maxLength is narrower`],
  ],
  ['a larger bound', (_o, s) => Object.assign(s.Body.properties.a, { maxLength: 10 }), []],
  [
    'a new bound',
    (_o, s) => Object.assign(s.Body.properties.a, { minLength: 1 }),
    [`${AT} body .a: minLength is narrower`],
  ],
  [
    'another type in the body',
    (_o, s) => Object.assign(s.Body.properties.a, { type: 'integer' }),
    [`${AT} body .a: type is narrower: string`],
  ],
  ['a required body', (o) => Object.assign(o.requestBody, { required: true }), [`${AT}: a body is required`]],
  [
    'a field less in the answer',
    (_o, s) => delete s.Answer.properties.b,
    [`${AT} 200 [] .b: the field is gone`],
  ],
  ['a field more in the answer', (_o, s) => Object.assign(s.Answer.properties, { c: {} }), []],
  [
    'a field that may be absent',
    (_o, s) => s.Answer.required.pop(),
    [`${AT} 200 [] .b: no longer always there`],
  ],
  [
    'an answer that may be null',
    (_o, s) => Object.assign(s.Answer.properties.b, { type: ['string', 'null'] }),
    [`${AT} 200 [] .b: type is narrower: null`],
  ],
  ['a parameter less', (o) => o.parameters.pop(), [`${AT}: the query parameter q is gone`]],
  [
    'a required parameter',
    (o) => Object.assign(o.parameters[0], { required: true }),
    [`${AT}: the query parameter q is required`],
  ],
  ['a credential less', (o) => o.security.pop(), [`${AT}: a kind of credential is no longer enough`]],
  ['a field more in a webhook', (_o, s) => Object.assign(s.Sent.properties, { e: {} }), []],
  ['a field less in a webhook', (_o, s) => delete s.Sent.properties.d, [`${SENT} .d: the field is gone`]],
  [
    'a field of a webhook that may be absent',
    (_o, s) => s.Sent.required.pop(),
    [`${SENT} .d: no longer always there`],
  ],
  [
    'an event less',
    (_o, _s, _paths, webhooks) => delete webhooks['thing.made'],
    [`${SENT}: the event is gone`],
  ],
  [
    'another media type',
    (o) => Object.assign(o.responses[200], { content: { 'text/csv': {} } }),
    [`${AT} 200: the media type application/json is gone`],
  ],
];

describe('a later document', () => {
  for (const [title, change, expected] of CHANGES) {
    it(`with ${title} ${expected.length === 0 ? 'breaks nothing' : 'breaks clients'}`, () => {
      const after = document();
      const { paths, components } = after as unknown as {
        paths: { '/things': { post: object } };
        components: { schemas: object };
      };
      change(paths['/things'].post, components.schemas, paths, after.webhooks);
      assert.deepEqual(breakingChanges(document(), after), expected);
    });
  }
});
