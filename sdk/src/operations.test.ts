import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import {
  type Located,
  type OpenApi,
  operationsOf,
  type ResponseObject,
  resolve,
} from '../../test/support/http/openapi/document.ts';
import { createValidator } from '../../test/support/http/openapi/validator.ts';
import { CALLS, WITHOUT_METHOD } from '../../test/support/sdk/operation-calls.ts';
import { Uqrp } from './rest/uqrp.ts';

const DOCUMENT = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
) as OpenApi;
const VALIDATOR = createValidator(DOCUMENT, true);
const OPERATIONS = operationsOf(DOCUMENT);
const ORIGIN = 'http://uqrp.example';

interface Sent {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A client whose server answers every request with the example of the operation. */
function clientOf(located: Located, sent: Sent[]): Uqrp {
  const [status = '', declared] = Object.entries(located.operation.responses)[0] ?? [];
  const response: ResponseObject = resolve(DOCUMENT, declared!);
  const [media] = Object.entries(response.content ?? {});
  return new Uqrp({
    baseUrl: ORIGIN,
    token: 't',
    retries: 0,
    fetch: async (url, { method = '', headers, body }) => {
      sent.push({
        method,
        url: new URL(url),
        headers: new Headers(headers),
        body: body === undefined ? undefined : JSON.parse(body as string),
      });
      const example = media?.[1].example;
      const text = typeof example === 'string' ? example : JSON.stringify(example);
      return new Response(media === undefined ? null : text, {
        status: Number(status),
        headers: { 'content-type': media?.[0] ?? '' },
      });
    },
  });
}

/** What is wrong with a request, by the description of its operation. */
function faultOf({ method, path, operation }: Located, { url, body, headers, ...sent }: Sent): string | null {
  const template = new RegExp(`^/api/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  if (sent.method !== method || !template.test(url.pathname)) return `it sent ${sent.method} ${url.pathname}`;
  const parameters = (operation.parameters ?? []).map((one) => resolve(DOCUMENT, one));
  const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  const unsent = names.filter((name) => !url.searchParams.has(name));
  // The cursor comes from an answer.
  if (unsent.some((name) => name !== 'cursor')) return `it cannot send the parameters ${unsent.join()}`;
  const unknown = [...url.searchParams.keys()].filter((name) => !names.includes(name));
  if (unknown.length > 0) return `there are no parameters ${unknown.join()}`;
  const isDeclared = parameters.some(({ name }) => name === 'Idempotency-Key');
  if (isDeclared !== headers.has('idempotency-key')) return 'Idempotency-Key';
  const { requestBody } = operation;
  if (requestBody === undefined) return body === undefined ? null : 'it has a body';
  if (body === undefined) return requestBody.required ? 'the body is missing' : null;
  const schema = requestBody.content['application/json']?.schema;
  return schema === undefined ? null : VALIDATOR.faultOfSchema(schema, body);
}

describe('the methods of the client', () => {
  it('are there for every operation of docs/openapi.json, or a reason is given', () => {
    const known = [...Object.keys(CALLS), ...Object.keys(WITHOUT_METHOD)].sort();
    assert.deepEqual(known, OPERATIONS.map(({ operation }) => operation.operationId).sort());
  });

  for (const located of OPERATIONS) {
    const { operationId } = located.operation;
    const call = CALLS[operationId];
    if (call === undefined) continue;
    it(`${operationId}: the request is as described`, async () => {
      const sent: Sent[] = [];
      // An answer without its headers may be refused; the request counts.
      await call(clientOf(located, sent)).catch((error: unknown) => assert.equal(error, null));
      assert.equal(sent.length, 1);
      assert.equal(faultOf(located, sent[0]!), null);
    });
  }

  it('a request that differs from its description is found', async () => {
    const located = OPERATIONS.find(({ operation }) => operation.operationId === 'createWebhook')!;
    const sent: Sent[] = [];
    const { webhooks } = clientOf(located, sent);
    await webhooks.create({ name: 'a', url: 'https://a.example/', events: ['record.gone'] as never });
    await webhooks.list();
    assert.deepEqual(
      sent.map((one) => faultOf(located, one)),
      ['body/webhook/events/0 must be equal to one of the allowed values', 'it sent GET /api/v1/webhooks'],
    );
  });
});
