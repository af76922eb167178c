import assert from 'node:assert/strict';
import { apiScenarios } from '../../test/support/http/engines.ts';
import {
  type Answer,
  assertFailure,
  type Caller,
  openWorld,
  WEBHOOK,
} from '../../test/support/http/world.ts';
import { deleteRows, findRows, insertRows } from '../../test/support/store/rows.ts';
import { LIMITS } from '../base/limits.ts';
import { sweepAnswers } from './unit.ts';

const DAY = LIMITS.idempotencyHours * 3_600_000;
const OTHER = ['Idempotency-Key was used with another request'];

function post(caller: Caller, path: string, body: unknown, key: string): Promise<Answer> {
  return caller.send('POST', path, body, { 'idempotency-key': key });
}

apiScenarios('idempotency keys', {
  'a repeated POST gets the same answer, secrets included, and does nothing again': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const webhook = await customer.webhook();
    for (const [path, body] of [
      ['/records', { record: { key: `r.${name}.v1`, data: 'aGk=' } }],
      ['/records/bulk', { records: [{ key: `b.${name}.v1`, data: '' }] }],
      ['/namespaces', { namespace: { name: `${name}-two` } }],
      [`/namespaces/${id}/query_tokens`, { name: 't' }],
      ['/api_keys', { api_key: { name: 'k' } }],
      ['/webhooks', { webhook: WEBHOOK }],
      [`/webhooks/${webhook.id}/regenerate_secret`, undefined],
      [`/webhooks/${webhook.id}/test`, undefined],
    ] as const) {
      const first = await post(customer, path, body, 'key of mine');
      assert.ok(first.status === 201 || first.status === 200, `${path}: ${first.text}`);
      const before = (await world.changes()).length;
      const again = await post(customer, path, body, 'key of mine');
      assert.deepEqual(
        [again.status, again.text, again.headers.location, again.headers.etag],
        [first.status, first.text, first.headers.location, first.headers.etag],
      );
      assert.equal((await world.changes()).length, before, path);
      await world.store.write((tx) => deleteRows(tx, 'idempotency_keys'));
    }
    assert.equal(world.network.sent.length, 1);
    await world.close();
  },

  'no stored answer holds the payload of a record': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const data = Buffer.from('a payload that is to be gone').toString('base64');
    const body = { record: { key: `r.${name}.v1`, data } };
    const first = await post(customer, '/records', body, 'k');
    assert.equal(first.json.data, data);
    await customer.del(`/records/${first.json.id}`);
    const rows = await findRows(store.read, 'idempotency_keys', { where: { customer_id: customer.id } });
    assert.equal(rows.length, 1);
    for (const { id, answer } of rows) {
      const text = world.deps.answers.decrypt(id, answer);
      assert.equal(text.includes(first.json.id), true);
      assert.equal(text.includes(data), false);
    }
    assert.equal((await post(customer, '/records', body, 'k')).text, first.text);
    await world.close();
  },

  'a key belongs to one request: another path or body is 422': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    assert.equal((await post(customer, '/api_keys', { api_key: { name: 'a' } }, 'k')).status, 201);
    for (const [path, body] of [
      ['/api_keys', { api_key: { name: 'b' } }],
      ['/api_keys', { api_key: { name: 'a' }, more: 1 }],
      ['/api_keys?x=1', { api_key: { name: 'a' } }],
      [`/namespaces/${id}/query_tokens`, { name: 'a' }],
    ] as const) {
      assertFailure(await post(customer, path, body, 'k'), 422, 'validation_error', OTHER);
    }
    assert.equal((await customer.get('/api_keys')).json.length, 1);
    await world.close();
  },

  'another precondition is another request (I02)': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const body = { record: { key: `r.${name}.v1`, data: '' } };
    const send = (headers: Readonly<Record<string, string>>) =>
      customer.send('POST', '/records', body, { 'idempotency-key': 'k', ...headers });
    const first = await send({ 'if-none-match': '*' });
    assert.equal(first.status, 201);
    assert.equal((await send({ 'if-none-match': '*' })).text, first.text);
    assertFailure(await send({}), 422, 'validation_error', OTHER);
    await customer.patch(`/namespaces/${id}`, { namespace: { history: { versions: 5, days: 5 } } });
    const { headers } = await customer.patch(`/records/${first.json.id}`, { record: { data: 'YQ==' } });
    const restore = (tag: unknown) =>
      customer.send(
        'POST',
        `/records/${first.json.id}/restore`,
        { version: 1 },
        { 'idempotency-key': 'r', 'if-match': String(tag) },
      );
    assert.equal((await restore(headers.etag)).status, 200);
    assert.equal((await restore(headers.etag)).status, 200);
    assertFailure(await restore('"other"'), 422, 'validation_error', OTHER);
    await world.close();
  },

  'an answer with a secret is not given to a key with another list of namespaces (I01)': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const { name: second } = await customer.namespace();
    const [one, both] = [
      await customer.key({ operations: ['write'], namespaces: [name] }),
      await customer.key({ operations: ['write'], namespaces: [name, second] }),
    ];
    const path = `/namespaces/${id}/query_tokens`;
    const [first, other] = [
      await post(one, path, { name: 't' }, 'k'),
      await post(both, path, { name: 't' }, 'k'),
    ];
    assert.deepEqual([first.status, other.status], [201, 201]);
    assert.notEqual(other.json.id, first.json.id);
    assert.equal((await post(one, path, { name: 't' }, 'k')).text, first.text);
    await world.close();
  },

  'of many at once with one key, one is done and all get its answer': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const body = { api_key: { name: 'a' } };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post(customer, '/api_keys', body, 'k')),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal((await customer.get('/api_keys')).json.length, 1);
    await world.close();
  },

  'many at once with keys of their own are all done': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id } = await customer.namespace();
    const requests = [
      ['/api_keys', { api_key: { name: 'k' } }],
      ['/webhooks', { webhook: WEBHOOK }],
      [`/namespaces/${id}/query_tokens`, { name: 't' }],
    ] as const;
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => {
        const [path, body] = requests[i % requests.length]!;
        return post(customer, path, body, `key ${i}`);
      }),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    await world.close();
  },

  'a request that fails leaves its key free': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const body = { record: { key: `r.${name}.v1`, data: '' } };
    const { id: taken } = await customer.record(body.record.key);
    assert.equal((await post(customer, '/records', body, 'k')).status, 422);
    await customer.del(`/records/${taken}`);
    assert.equal((await post(customer, '/records', body, 'k')).status, 201);
    assert.equal((await customer.get(`/namespaces/${id}`)).json.records_count, 1);
    await world.close();
  },

  'an answer is given to the same customer and scopes only, for 24 hours': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const { name } = await customer.namespace();
    const body = { webhook: { ...WEBHOOK, scopes: { namespaces: [name] } } };
    const first = await post(customer, '/webhooks', body, 'k');
    assert.equal(first.status, 201);
    const plain = { webhook: WEBHOOK };
    assert.notEqual((await post(other, '/webhooks', plain, 'k')).json.id, first.json.id);
    const [writer, scoped] = [
      await customer.key({ operations: ['write'] }),
      await customer.key({ namespaces: [name] }),
    ];
    const ids = new Set([first.json.id]);
    for (const caller of [writer, scoped]) ids.add((await post(caller, '/webhooks', body, 'k')).json.id);
    assert.equal(ids.size, 3);
    world.advance(DAY - 1);
    const session = await world.signIn(customer);
    assert.equal((await post(session, '/webhooks', body, 'k')).json.id, first.json.id);
    world.advance(1);
    const later = await world.signIn(customer);
    assert.equal(ids.has((await post(later, '/webhooks', body, 'k')).json.id), false);
    await world.close();
  },

  'keys of 1 to 255 printable characters, and no others': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const message = 'Idempotency-Key must have 1 to 255 printable ASCII characters';
    for (const key of ['', 'x'.repeat(256), 'a\u00e9', 'a\tb']) {
      const answer = await post(customer, '/api_keys', { api_key: { name: 'a' } }, key);
      assertFailure(answer, 400, 'validation_error', message);
    }
    for (const key of ['x', 'x'.repeat(255)]) {
      assert.equal((await post(customer, '/api_keys', { api_key: { name: 'a' } }, key)).status, 201);
    }
    await world.close();
  },

  'answers are encrypted at rest, bounded for each customer, and swept': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const body = { api_key: { name: 'a' } };
    const { json } = await post(customer, '/api_keys', body, 'k');
    const own = () => findRows(store.read, 'idempotency_keys', { where: { customer_id: customer.id } });
    const [row] = await own();
    const bytes = Buffer.from(row!.answer);
    assert.equal(bytes.length, row!.octets);
    for (const text of [json.token, json.id, 'name']) assert.equal(bytes.includes(text), false);

    const full = { ...row!, id: 'full', octets: LIMITS.idempotencyOctets };
    await store.write((tx) => insertRows(tx, 'idempotency_keys', full));
    const refused = await post(customer, '/api_keys', body, 'another');
    const limit = 'Idempotency-Key limit of the account reached';
    assertFailure(refused, 422, 'quota_exceeded', limit);
    assert.equal((await customer.get('/api_keys')).json.length, 1);
    world.advance(DAY - 1);
    await sweepAnswers(world.deps);
    assert.equal((await own()).length, 2);
    world.advance(1);
    await sweepAnswers(world.deps);
    assert.equal((await own()).length, 0);
    await world.close();
  },

  'a deep body with a key is refused, and is no fault of the server: finding 10 of the second security review':
    async (store) => {
      const world = await openWorld(store);
      const customer = await world.customer();
      const deep = `{"namespace":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
      const headers = { 'content-type': 'application/json', 'idempotency-key': 'deep' };
      const answer = await customer.send('POST', '/namespaces', deep, headers);
      assertFailure(answer, 400, 'validation_error', `Body must have at most ${LIMITS.bodyDepth} levels`);
      assert.deepEqual(world.errors, []);
      await world.close();
    },

  'the same body is one of the same octets': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const record = { key: `r.${name}.v1`, data: 'aGk=' };
    const send = (text: string): Promise<Answer> =>
      customer.send('POST', '/records', text, {
        'content-type': 'application/json',
        'idempotency-key': 'octets',
      });
    const body = JSON.stringify({ record });
    const first = await send(body);
    assert.equal(first.status, 201);
    assert.equal((await send(body)).text, first.text);
    assertFailure(await send(`${body} `), 422, 'validation_error', OTHER);
    await world.close();
  },
});
