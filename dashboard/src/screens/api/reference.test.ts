import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { fieldsOf, typeText } from './fields.ts';
import { bestMatch, matchingGroups } from './find-operations.ts';
import { commonAnswers, commonKey, type OpenApi, type Operation, operationGroups } from './openapi.ts';
import { faultsOf, firstValues, plannedRequest, requestParts } from './request.ts';
import { snippetsOf } from './snippets.ts';

const DOCUMENT = JSON.parse(
  readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8'),
) as OpenApi;
const groups = operationGroups(DOCUMENT);
const operations = groups.flatMap((group) => group.operations);

function operationOf(id: string): Operation {
  const found = operations.find((one) => one.id === id);
  assert.ok(found, id);
  return found;
}

describe('the document', () => {
  it('has every operation once, under its tag, without references', () => {
    const all = Object.values(DOCUMENT.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    assert.deepEqual(operations.map(({ id }) => id).sort(), all.sort());
    assert.equal(groups[0]?.name, 'Records');
    for (const { parameters, answers } of operations) {
      for (const { name, in: place } of parameters) assert.ok(name && place);
      for (const { status, description } of answers) assert.ok(status && description);
    }
  });

  it('has answers that many operations share', () => {
    const common = commonAnswers(operations);
    assert.ok(common.some(({ status }) => status === '429') && common.every(({ status }) => status >= '400'));
    assert.equal(new Set(common.map(commonKey)).size, common.length);
    assert.ok(!common.some(({ status }) => status === '412'));
  });

  it('tells who may call', () => {
    assert.deepEqual(operationOf('getMeta').credentials, []);
    assert.ok(operationOf('createRecord').credentials.includes('apiKey'));
    assert.ok(!operationOf('createApiKey').credentials.includes('apiKey'));
  });
});

describe('a search', () => {
  const found = (text: string) =>
    matchingGroups(groups, text).flatMap((group) => group.operations.map(({ id }) => id));

  it('finds operations that have every word, in any order and case', () => {
    assert.equal(found('').length, operations.length);
    assert.deepEqual(found('delete  RECORDS/{id}'), found('records/{id} DELETE'));
    assert.ok(found('delete records/{id}').includes('deleteRecord'));
    assert.ok(found('Idempotency-Key').length > 3, 'names of parameters count');
    assert.deepEqual(found('no such words'), []);
    assert.ok(matchingGroups(groups, 'webhook').every((group) => group.operations.length > 0));
  });

  it('opens the operation whose name, path or summary has the words, before one that mentions them', () => {
    assert.equal(bestMatch(matchingGroups(groups, 'revoke token'), 'revoke token')?.id, 'revokeQueryToken');
    const [first, second] = [operationOf('listRecords'), operationOf('getRecord')];
    const made = [
      { ...first, description: 'As a zebra does' },
      { ...second, summary: 'Counts zebras' },
    ];
    const zebras = matchingGroups([{ name: 'Animals', description: '', operations: made }], 'zebra');
    assert.deepEqual([zebras[0]?.operations.length, bestMatch(zebras, 'zebra')?.id], [2, 'getRecord']);
    assert.equal(bestMatch([], 'x'), null);
  });
});

describe('the fields of a body', () => {
  it('are those of the objects in it, too', () => {
    const { body } = operationOf('createRecord');
    const fields = fieldsOf(DOCUMENT, body!.schema!);
    assert.deepEqual(
      fields.slice(0, 3).map(({ name, isRequired }) => [name, isRequired]),
      [
        ['record', true],
        ['record.key', true],
        ['record.data', true],
      ],
    );
    const bulk = fieldsOf(DOCUMENT, operationOf('writeRecords').body!.schema!).map(({ name }) => name);
    assert.ok(bulk.includes('records[].key') && bulk.includes('delete'));
  });

  it('have a type in words, for every field of the document', () => {
    for (const [schema, text] of [
      [{ type: ['string', 'null'], format: 'date-time' }, 'string or null, date-time'],
      [{ enum: ['a', 'b'] }, '"a" or "b"'],
      [{ const: true }, 'true'],
      [
        { type: 'array', items: { type: 'string', maxLength: 3 }, maxItems: 2 },
        'array of string, at most 3 characters, at most 2',
      ],
      [{ type: 'integer', minimum: 1, maximum: 9, default: 5 }, 'integer, 1 to 9, default 5'],
      [{ type: 'integer', minimum: 0 }, 'integer, at least 0'],
      [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string or null'],
    ] as const) {
      assert.equal(typeText(DOCUMENT, schema), text);
    }
    for (const { body, answers, parameters } of operations) {
      for (const { schema } of parameters) assert.doesNotMatch(typeText(DOCUMENT, schema), /any|undefined/);
      for (const content of [body, ...answers.map((answer) => answer.content)]) {
        if (content === null || content.schema === null) continue;
        for (const { type } of fieldsOf(DOCUMENT, content.schema)) assert.doesNotMatch(type, /undefined/);
      }
    }
  });
});

describe('a form', () => {
  it('begins with the example, and with it every body is complete', () => {
    for (const operation of operations) {
      const faults = faultsOf(operation, firstValues(operation));
      const required = operation.parameters.filter((one) => one.required).map(({ name }) => name);
      assert.deepEqual(faults, required.length === 0 ? null : { missing: required, body: null });
    }
  });

  it('becomes a request: encoded path, what is given of query and headers, JSON', () => {
    const list = operationOf('listRecords');
    const planned = plannedRequest(list, {
      parameters: { namespace: 'a b&c', limit: '5', cursor: '' },
      body: '',
    });
    assert.deepEqual(planned.query, { namespace: 'a b&c', limit: '5' });
    assert.deepEqual([planned.path, planned.body, planned.headers], ['/records', undefined, {}]);
    const update = operationOf('updateRecord');
    const values = { parameters: { id: '../x', 'If-Match': '*' }, body: '{"record": {"data": ""}}' };
    assert.deepEqual(plannedRequest(update, values), {
      method: 'PATCH',
      path: '/records/..%2Fx',
      query: {},
      headers: { 'If-Match': '*' },
      body: { record: { data: '' } },
    });
    assert.equal(plannedRequest(update, { parameters: {}, body: 'x' }).path, '/records/{id}');
  });

  it('says what is wrong before it is sent', () => {
    const update = operationOf('updateRecord');
    const faults = faultsOf(update, { parameters: {}, body: '{' });
    assert.deepEqual(faults?.missing, ['id']);
    assert.match(faults?.body ?? '', /JSON/);
    assert.notEqual(faultsOf(update, { parameters: { id: 'a' }, body: '' }), null);
    assert.equal(faultsOf(update, { parameters: { id: 'a' }, body: '{}' }), null);
  });

  it('sends an Idempotency-Key where the operation takes one', () => {
    const create = operationOf('createRecord');
    const keyed = plannedRequest(create, { parameters: { 'Idempotency-Key': 'k' }, body: '{}' });
    const parts = requestParts(create, keyed);
    assert.deepEqual([parts.idempotencyKey, parts.isKeyless, parts.headers], ['k', false, {}]);
    const signIn = operationOf('signIn');
    assert.equal(requestParts(signIn, plannedRequest(signIn, firstValues(signIn))).isKeyless, true);
  });
});

describe('code to copy', () => {
  const create = operationOf('createRecord');
  const nasty = { record: { key: `it's "a" \\ $(id) \`id\` é\u2028😀`, ok: true, none: null } };
  const request = plannedRequest(create, {
    parameters: { 'Idempotency-Key': "o'k" },
    body: JSON.stringify(nasty),
  });
  const codes = new Map(
    snippetsOf(request, 'https://api.example', false).map(({ name, code }) => [name, code]),
  );

  it('for the shell says exactly the request, whatever is in it', () => {
    const shell = `curl() { printf '%s\\0' "$(cat)" "$@"; }\n${codes.get('curl')}`;
    const words = execFileSync('sh', ['-c', shell], { env: { UQRP_TOKEN: 't' } })
      .toString()
      .split('\0');
    assert.deepEqual(words.slice(0, -2), [
      'Authorization: Bearer t',
      '-H',
      '@-',
      '-X',
      'POST',
      'https://api.example/api/v1/records',
      '-H',
      "Idempotency-Key: o'k",
      '-H',
      'Content-Type: application/json',
      '-d',
    ]);
    assert.deepEqual(JSON.parse(words.at(-2)!), nasty);
  });

  it('for Python and Node hold the body as a literal of theirs', () => {
    const [, literal] = /data=(".*")\.encode\(\)/s.exec(codes.get('python')!)!;
    assert.deepEqual(JSON.parse(JSON.parse(literal!)), nasty);
    const [, parts] = /request\((\{.*\})\);/s.exec(codes.get('node')!)!;
    const evaluated = JSON.parse(runInNewContext(`JSON.stringify(${parts})`) as string) as object;
    assert.deepEqual(evaluated, {
      method: 'POST',
      path: '/records',
      headers: { 'Idempotency-Key': "o'k" },
      body: nasty,
    });
  });

  it('holds no credential, and names none where none is needed', () => {
    for (const code of codes.values()) assert.match(code, /UQRP_TOKEN/);
    const meta = plannedRequest(operationOf('getMeta'), { parameters: {}, body: '' });
    for (const { code } of snippetsOf(meta, 'https://api.example', true)) {
      assert.doesNotMatch(code, /TOKEN|import os/);
    }
  });
});
