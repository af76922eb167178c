import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Media, operationsOf, resolve } from '../../../test/support/http/openapi/document.ts';
import { publishedDocument } from '../../../test/support/http/openapi/published.ts';
import { createValidator } from '../../../test/support/http/openapi/validator.ts';
import { DELIVERY_BODY_SCHEMAS } from '../../control/webhooks/events.ts';
import { resourceSchema } from '../../protocol/input/schema.ts';
import { type DescribedRoute, exampleOf, openApiDocument } from './document.ts';

import type { Operation } from './operation.ts';

const INFO = {
  server: 'https://uqrp.example/api/v1',
  version: '0',
  recordKeyMax: 178,
  deliveries: DELIVERY_BODY_SCHEMAS,
};

function route(path: string, more: Partial<Operation> = {}, method = 'GET'): DescribedRoute {
  const operation: Operation = {
    operationId: path,
    summary: '',
    tag: 'Service',
    auth: 'none',
    responses: { 204: { description: '' } },
    ...more,
  };
  return { method, path, operation };
}

describe('the OpenAPI document', async () => {
  const document = await publishedDocument();

  it('has an example of every body, and each is valid', () => {
    const validator = createValidator(document, true);
    const faults: string[] = [];
    const check = (where: string, content: Readonly<Record<string, Media>> = {}): void => {
      for (const [type, { schema, example }] of Object.entries(content)) {
        if (type !== 'application/json') continue;
        const fault = example === undefined ? 'no example' : validator.faultOfSchema(schema, example);
        if (fault !== null) faults.push(`${where}: ${fault}`);
      }
    };
    for (const { operation } of operationsOf(document)) {
      check(operation.operationId, operation.requestBody?.content);
      for (const [status, response] of Object.entries(operation.responses)) {
        check(`${operation.operationId} ${status}`, resolve(document, response).content);
      }
    }
    assert.deepEqual(faults, []);
  });

  it('names the refusals that follow from path, credential and body', () => {
    const statuses = (one: DescribedRoute): readonly string[] => {
      const { paths } = openApiDocument([one], INFO) as unknown as typeof document;
      return Object.keys(operationsOf({ paths })[0]!.operation.responses);
    };
    const usual = ['400', '408', '429', '431', '500'];
    assert.deepEqual(statuses(route('/a')), ['204', ...usual]);
    assert.deepEqual(statuses(route('/a', { auth: 'session', errors: [412] })), [
      '204',
      ...['400', '401', '403', '408', '412', '429', '431', '500'],
    ]);
    assert.deepEqual(statuses(route('/a/:id', { request: 'empty' }, 'POST')), [
      '204',
      ...['400', '404', '408', '413', '415', '422', '429', '431', '500'],
    ]);
  });

  it('has no header and no parameter that nothing refers to', () => {
    const small = openApiDocument([route('/a')], INFO);
    const text = JSON.stringify(small);
    const { headers, parameters } = small.components as Record<string, object>;
    for (const [kind, table] of Object.entries({ headers, parameters }))
      for (const name of Object.keys(table ?? {}))
        assert.ok(text.includes(`"#/components/${kind}/${name}"`), `${kind} ${name}`);
  });

  it('is refused with an operationId or a title that is used twice', () => {
    const twice = [route('/a'), route('/b', { operationId: '/a' })];
    assert.throws(() => openApiDocument(twice, INFO), /two operations are named \/a/);
    const schemas = [{ type: 'string' }, { type: 'integer' }] as const;
    const titled = schemas.map((schema, at) =>
      route(`/${at}`, {
        responses: {
          200: { description: '', schema: resourceSchema<{ a: string | number }>('A', { a: schema }) },
        },
      }),
    );
    assert.throws(() => openApiDocument(titled, INFO), /two schemas are named A/);
  });
});

describe('the example of a schema', () => {
  for (const [title, schema, expected] of [
    ['is its first example', { examples: [1, 2], const: 3 }, 1],
    ['is its constant', { const: 3 }, 3],
    ['is its first value', { enum: ['a', 'b'] }, 'a'],
    ['is its default before its first value', { enum: ['a', 'b'], default: 'b' }, 'b'],
    ['is that of its first choice', { anyOf: [{ const: 1 }, { const: 2 }] }, 1],
    ['has one item', { items: { const: 1 } }, [1]],
    ['has no item without an example', { items: {} }, []],
    [
      'has required fields, and optional ones with an example',
      { properties: { a: { const: 1 }, b: { const: 2 }, c: { examples: [3] } }, required: ['a'] },
      { a: 1, c: 3 },
    ],
    ['is that of its type', { type: 'string' }, 'text'],
    ['is its minimum', { type: 'integer', minimum: 5 }, 5],
    ['is absent', {}, undefined],
  ] as const) {
    it(title, () => assert.deepEqual(exampleOf(schema), expected));
  }
});
