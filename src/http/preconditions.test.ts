import assert from 'node:assert/strict';
import { apiScenarios } from '../../test/support/http/engines.ts';
import {
  type Answer,
  assertFailure,
  type Caller,
  type Customer,
  type Json,
  openWorld,
  type World,
} from '../../test/support/http/world.ts';
import type { Store } from '../store/store.ts';

interface Setup {
  readonly world: World;
  readonly customer: Customer;
  readonly name: string;
  readonly record: Json;
  readonly path: string;
}

async function setup(store: Store): Promise<Setup> {
  const world = await openWorld(store);
  const customer = await world.customer();
  const { name } = await customer.namespace();
  const record = await customer.record(`r.${name}.v1`);
  return { world, customer, name, record, path: `/records/${record.id}` };
}

const patch = (
  caller: Caller,
  path: string,
  data: string,
  headers: Record<string, string>,
): Promise<Answer> => caller.send('PATCH', path, { record: { data } }, headers);

const LOST = 'If-Match does not match the record';
const MALFORMED = 'If-Match must be * or a list of entity tags in quotation marks';

apiScenarios('preconditions', {
  'every single record has a strong ETag, which every write changes': async (store) => {
    const { world, customer, name, record, path } = await setup(store);
    const tagNow = async (): Promise<string> => {
      const answer = await customer.get(path);
      const { etag } = answer.headers;
      assert.match(String(etag), /^"[0-9a-z]+"$/);
      return String(etag);
    };
    const first = await tagNow();
    assert.equal(await tagNow(), first);
    const made = await customer.post('/records', { record: { key: `s.${name}.v1`, data: '' } });
    assert.match(String(made.headers.etag), /^"[0-9a-z]+"$/);
    // The clock stands still: a write moves the tag all the same.
    const patched = await patch(customer, path, 'eA==', {});
    assert.notEqual(patched.headers.etag, first);
    assert.equal(await tagNow(), patched.headers.etag);
    await customer.post('/records/bulk', { records: [{ key: record.key, data: '' }] });
    assert.notEqual(await tagNow(), patched.headers.etag);
    assert.equal((await customer.get('/records')).headers.etag, undefined);
    await world.close();
  },

  'PATCH with If-Match changes only the record that the client has seen': async (store) => {
    const { world, customer, path } = await setup(store);
    let tag = String((await customer.get(path)).headers.etag);
    for (const [header, status] of [
      [tag, 200],
      ['"nothing"', 412],
      [`W/TAG`, 412],
      [`"nothing", TAG`, 200],
      [` ,"a" , ,TAG,`, 200],
      [`"a",W/TAG`, 412],
      ['*', 200],
      ['""', 412],
    ] as const) {
      const value = header === tag ? tag : header.replace('TAG', tag);
      const answer = await patch(customer, path, 'eA==', { 'if-match': value });
      if (status === 412) assertFailure(answer, 412, 'validation_error', LOST);
      else {
        assert.equal(answer.status, 200, `${value}: ${answer.text}`);
        tag = String(answer.headers.etag);
      }
    }
    for (const value of ['', tag.slice(1), `${tag} ${tag}`, 'x', '*, "a"', '"a"b']) {
      const answer = await patch(customer, path, 'eQ==', { 'if-match': value });
      assertFailure(answer, 400, 'validation_error', MALFORMED);
    }
    assert.equal((await customer.get(path)).json.data, 'eA==');
    await world.close();
  },

  'DELETE with If-Match deletes only the record that the client has seen': async (store) => {
    const { world, customer, path } = await setup(store);
    const { etag } = (await customer.get(path)).headers;
    await patch(customer, path, 'eA==', {});
    const lost = await customer.send('DELETE', path, undefined, { 'if-match': String(etag) });
    assertFailure(lost, 412, 'validation_error', LOST);
    assert.equal((await customer.get('/me')).json.records_count, 1);
    const now = String((await customer.get(path)).headers.etag);
    assert.equal((await customer.send('DELETE', path, undefined, { 'if-match': now })).status, 204);
    const again = await customer.send('DELETE', path, undefined, { 'if-match': '*' });
    assertFailure(again, 404, 'not_found', 'Record not found');
    await world.close();
  },

  'of many writes with one If-Match at once, one succeeds': async (store) => {
    const { world, customer, path } = await setup(store);
    const headers = { 'if-match': String((await customer.get(path)).headers.etag) };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        patch(customer, path, Buffer.from(`${i}`).toString('base64'), headers),
      ),
    );
    const winners = answers.filter(({ status }) => status === 200);
    assert.equal(winners.length, 1);
    assert.equal(answers.filter(({ status }) => status === 412).length, 19);
    assert.equal((await customer.get(path)).json.data, winners[0]!.json.data);
    await world.close();
  },

  'POST with If-None-Match: * creates, and is 412 where the key is taken': async (store) => {
    const { world, customer, name, record } = await setup(store);
    const post = (key: string, value: string): Promise<Answer> =>
      customer.send('POST', '/records', { record: { key, data: '' } }, { 'if-none-match': value });
    assertFailure(await post(record.key, '*'), 412, 'validation_error', 'Key has already been taken');
    assert.equal((await post(`new.${name}.v1`, '*')).status, 201);
    const other = await post(`more.${name}.v1`, '"x"');
    assertFailure(other, 400, 'validation_error', 'If-None-Match must be * on a POST');
    assert.equal((await customer.get('/me')).json.records_count, 2);
    await world.close();
  },

  'GET with If-None-Match is 304 for the record that the client has': async (store) => {
    const { world, customer, path } = await setup(store);
    const get = (value: string): Promise<Answer> =>
      customer.send('GET', path, undefined, { 'if-none-match': value });
    const tag = String((await customer.get(path)).headers.etag);
    for (const value of [tag, `W/${tag}`, `"a", ${tag}`, '*']) {
      const { status, text, headers } = await get(value);
      assert.deepEqual([status, text, headers.etag], [304, '', tag], value);
    }
    assert.equal((await get('"a"')).status, 200);
    await world.close();
  },
});
