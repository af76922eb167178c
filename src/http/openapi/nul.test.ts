import assert from 'node:assert/strict';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import {
  type Json,
  type Located,
  type OpenApi,
  operationsOf,
  resolve,
} from '../../../test/support/http/openapi/document.ts';
import { type Fixtures, makeFixtures } from '../../../test/support/http/openapi/fixtures.ts';
import { parametersOf } from '../../../test/support/http/openapi/fuzz.ts';
import { contract } from '../../../test/support/http/openapi/response-check.ts';
import { type Answer, type Caller, openWorld, type World } from '../../../test/support/http/world.ts';
import { encodeListingCursor } from '../../protocol/input/query-parameters.ts';

/** What PostgreSQL stores in no text, alone and within one. It refuses the statement. */
const TEXTS = ['\u0000', 'a\u0000b', 'a@b.example\u0000', '\ud800'];

interface Setting {
  readonly world: World;
  readonly caller: Caller;
  readonly fixtures: Fixtures;
  readonly document: OpenApi;
}

async function settingOf(world: World): Promise<Setting> {
  const customer = await world.customer('enterprise');
  const caller = await world.signIn(customer);
  const { document } = await contract();
  return { world, caller, fixtures: await makeFixtures(customer, caller), document };
}

/** A request in which one text is replaced. */
interface Odd {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A lone surrogate has no octets in a URL: it becomes U+FFFD. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed());

function* oddPaths({ method, path }: Located, { fixtures }: Setting): Iterable<Odd> {
  for (const parameter of path.match(/\{\w+\}/g) ?? []) {
    for (const text of [...TEXTS.map(encoded), '%ED%A0%80']) {
      yield { method, path: fixtures.pathOf(path.replace(parameter, text)) };
    }
  }
}

function* oddQueries({ method, path, operation }: Located, { document, fixtures }: Setting): Iterable<Odd> {
  for (const parameter of parametersOf(document, operation)) {
    if (parameter.in === 'path') continue;
    // Node's parser refuses U+0000 in a header, and its client sends none: these are the octets that may come.
    if (parameter.in === 'header') {
      yield { method, path: fixtures.pathOf(path), headers: { [parameter.name]: '\u00ed\u00a0\u0080' } };
      continue;
    }
    for (const text of TEXTS) {
      yield { method, path: `${fixtures.pathOf(path)}?${encoded(parameter.name)}=${encoded(text)}` };
    }
  }
  yield { method, path: `${fixtures.pathOf(path)}?a%00b=%00` };
}

/** The example of the body with one of its texts replaced, or with one more field. */
function* oddBodies({ method, path, operation }: Located, { document, fixtures }: Setting): Iterable<Odd> {
  const { example, schema } = operation.requestBody?.content['application/json'] ?? {};
  for (const body of withOddText(document, example, schema)) {
    yield { method, path: fixtures.pathOf(path), body };
  }
}

function* withOddText(document: OpenApi, value: unknown, reference: Json = {}): Iterable<unknown> {
  const { items, properties = {} } = resolve<Json>(document, reference);
  if (typeof value === 'string') yield* TEXTS;
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const odd of withOddText(document, item, items as Json)) yield value.with(index, odd);
    }
  } else if (typeof value === 'object' && value !== null) {
    const fields = properties as Readonly<Record<string, Json>>;
    for (const [name, item] of Object.entries(value)) {
      for (const odd of withOddText(document, item, fields[name])) yield { ...value, [name]: odd };
    }
    for (const name of [...Object.keys(fields), '\u0000']) {
      if (Object.hasOwn(value, name)) continue;
      for (const text of TEXTS) {
        yield { ...value, [name]: text };
        yield { ...value, [name]: [text] };
      }
    }
  }
}

async function sendOdd({ world, caller }: Setting, { method, path, headers, body }: Odd): Promise<void> {
  const answer = await caller.send(method, path, body, headers);
  assert.ok(answer.status < 500, `${method} ${path} ${JSON.stringify(body)}: ${answer.status}`);
  assert.deepEqual(world.errors.splice(0), []);
}

/** The cursor of the next page of a listing; null: it has no other page. */
function cursorOf({ json, headers }: Answer): string | null {
  const link = /[?&]cursor=([\w-]+)/.exec((headers.link as string | undefined) ?? '');
  return link?.[1] ?? json?.meta?.next_cursor ?? null;
}

/** The cursor with each of its texts replaced: its fingerprint is no secret. */
function* forged(cursor: string): Iterable<string> {
  const fields = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== 'string' || name === 'f') continue;
    for (const text of TEXTS)
      yield Buffer.from(JSON.stringify({ ...fields, [name]: text })).toString('base64url');
  }
}

const OFREP = '/ofrep/v1/evaluate/flags';

apiScenarios('text that no database stores', {
  'U+0000 in a path, a query, a header or a body of any operation is no fault of the server': async (
    store,
  ) => {
    const world = await openWorld(store);
    try {
      let setting = await settingOf(world);
      let count = 0;
      for (const located of operationsOf(setting.document)) {
        for (const oddOf of [oddPaths, oddQueries, oddBodies]) {
          for (const odd of oddOf(located, setting)) {
            await sendOdd(setting, odd);
            count++;
          }
        }
        // The session may have ended, or what the next request is about may be gone.
        if (located.method !== 'GET') setting = await settingOf(world);
      }
      assert.ok(count > 1_000, String(count));
    } finally {
      await world.close();
    }
  },
  'U+0000 in the path, the query or the body of an evaluation of flags is no fault of the server': async (
    store,
  ) => {
    const world = await openWorld(store);
    try {
      const customer = await world.customer();
      const { name } = await customer.namespace();
      const { token } = await customer.key();
      const context = { targetingKey: '\u0000', a: '\u0000', '\u0000': '\ud800' };
      for (const path of [`/flags/%00${OFREP}/x`, `/flags/${name}${OFREP}/%00`, `${OFREP}/%00`]) {
        const headers = { authorization: `Bearer ${token}` };
        const answer = await world.app.inject({ method: 'POST', url: path, headers, payload: { context } });
        assert.ok(answer.statusCode < 500, `${path}: ${answer.body}`);
      }
      const events = await world.app.inject(`/flags/${name}/ofrep/v1/events?t=%00`);
      assert.ok(events.statusCode < 500, events.body);
      assert.deepEqual(world.errors, []);
    } finally {
      await world.close();
    }
  },
  'a cursor that was forged with U+0000 is refused by every listing': async (store) => {
    const world = await openWorld(store);
    try {
      const customer = await world.customer('enterprise');
      const { name } = await customer.namespace();
      for (const key of ['a', 'b']) await customer.record(`${key}.i.${name}.v1`);
      const webhook = await customer.webhook();
      for (let i = 0; i < 2; i++) await customer.post(`/webhooks/${webhook.id}/test`);
      for (const path of [
        '/audit?',
        '/records?',
        '/records?sort=key&',
        '/records?sort=updated_at&',
        `/records?q=${name}&sort=key&`,
        `/webhooks/${webhook.id}/deliveries?`,
      ]) {
        const cursor = cursorOf(await customer.get(`${path}limit=1`));
        assert.ok(cursor !== null, path);
        for (const text of forged(cursor)) {
          const { status } = await customer.get(`${path}limit=1&cursor=${text}`);
          assert.equal(status, 400, `${path} ${text}`);
        }
      }
      // A stranger needs no listing of two pages: the fingerprint of this one is the same everywhere.
      for (const text of forged(encodeListingCursor({ s: 'x' }, ['datasets']))) {
        assert.equal((await world.caller(null).get(`/datasets?cursor=${text}`)).status, 400);
      }
      assert.deepEqual(world.errors, []);
    } finally {
      await world.close();
    }
  },
});
