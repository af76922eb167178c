import assert from 'node:assert/strict';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { limiterOf } from '../../test/support/http/server-parts.ts';
import {
  type Answer,
  assertFailure,
  type Caller,
  openWorld,
  type World,
} from '../../test/support/http/world.ts';
import { LIMITS, TIERS } from '../base/limits.ts';

const limiter = limiterOf;

function assertThrottled(answer: Answer, retryAfter: string): void {
  assertFailure(answer, 429, 'rate_limit_exceeded', 'Rate limit exceeded');
  assert.equal(answer.headers['retry-after'], retryAfter);
}

async function times(count: number, run: () => Promise<Answer>, status: number): Promise<void> {
  for (let i = 0; i < count; i++) assert.equal((await run()).status, status);
}

/** A write that changes nothing: it counts all the same. */
const write = (caller: Caller): Promise<Answer> => caller.del('/records/x');

function from(world: World, remoteAddress: string, authorization?: string): Promise<Answer> {
  return world.inject({
    method: 'GET',
    url: '/api/v1/me',
    remoteAddress,
    headers: authorization === undefined ? {} : { authorization },
  });
}

apiScenarios('limits', {
  '60 writes a minute, then 429 until the minute is over': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const key = await customer.key();
    await times(LIMITS.writesPerMinute - 2, () => write(customer), 404);
    // Both credentials draw on the customer's one budget.
    await times(1, () => write(key), 404);
    assertThrottled(await write(customer), '60');
    assertThrottled(await write(key), '60');
    world.advance(59_001);
    assertThrottled(await write(customer), '1');
    // Reads and other customers' writes are still admitted.
    assert.equal((await customer.get('/me')).status, 200);
    assert.equal((await write(await world.customer())).status, 404);
    world.advance(999);
    assert.equal((await write(customer)).status, 404);
    await world.close();
  },

  '600 writes an hour, then 429 until the hour is over': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    for (let minute = 0; minute < 10; minute++) {
      await times(LIMITS.writesPerMinute, () => write(customer), 404);
      world.advance(60_000);
    }
    assertThrottled(await write(customer), '3000');
    world.advance(3_000_000 - 1);
    assertThrottled(await write(customer), '1');
    world.advance(1);
    assert.equal((await write(customer)).status, 404);
    await world.close();
  },

  'a bulk of 500 is one write': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const records = Array.from({ length: 500 }, (_, i) => ({ key: `k${i}.r.${name}.v1`, data: '' }));
    assert.equal((await customer.post('/records/bulk', { records })).status, 200);
    await times(LIMITS.writesPerMinute - 2, () => write(customer), 404);
    assertThrottled(await write(customer), '60');
    await world.close();
  },

  '200 writes at once: exactly 60 pass': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const answers = await Promise.all(Array.from({ length: 200 }, () => write(customer)));
    assert.equal(answers.filter((answer) => answer.status === 404).length, LIMITS.writesPerMinute);
    assert.equal(answers.filter((answer) => answer.status === 429).length, 200 - LIMITS.writesPerMinute);
    await world.close();
  },

  '1,000 requests a minute, writes that are refused with 429 among them': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const read = (): Promise<Answer> => customer.get('/records/x');
    await times(LIMITS.writesPerMinute, () => write(customer), 404);
    await times(40, () => write(customer), 429);
    await times(LIMITS.authenticatedPerMinute - LIMITS.writesPerMinute - 40, read, 404);
    assertThrottled(await read(), '60');
    world.advance(60_000);
    assert.equal((await read()).status, 404);
    await world.close();
  },

  '100 requests a minute and address without a credential that counts': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const bad = `Bearer ${'0'.repeat(64)}`;
    await times(50, () => from(world, '192.0.2.1'), 401);
    await times(50, () => from(world, '192.0.2.1', bad), 401);
    assertThrottled(await from(world, '192.0.2.1'), '60');
    assertThrottled(await from(world, '::ffff:192.0.2.1', bad), '60');
    assert.equal((await from(world, '192.0.2.2')).status, 401);
    // A request with a valid credential does not use the address's budget.
    assert.equal((await from(world, '192.0.2.1', `Bearer ${customer.token}`)).status, 200);
    await times(100, () => from(world, '2001:db8:0:1::1'), 401);
    assertThrottled(await from(world, '2001:db8::1:ffff:0:0:9'), '60');
    assert.equal((await from(world, '2001:db8:0:2::1')).status, 401);
    world.advance(60_000);
    assert.equal((await from(world, '192.0.2.1')).status, 401);
    await world.close();
  },

  'only requests without a valid credential draw on the address: 404 and 405 included': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const nobody = world.caller(null);
    await times(50, () => nobody.get('/nothing'), 404);
    await times(50, () => nobody.send('PUT', '/records/bulk'), 405);
    assertThrottled(await nobody.get('/nothing'), '60');
    assertThrottled(await nobody.send('PATCH', '/records'), '60');
    // With a credential they draw on the customer's budget, at the same address.
    await times(300, () => customer.get('/nothing'), 404);
    await times(300, () => customer.send('PUT', '/records'), 405);
    await times(399, () => customer.send('GET', '/records/bulk'), 405);
    assert.equal((await customer.get('/me')).status, 200);
    assertThrottled(await customer.get('/nothing'), '60');
    await world.close();
  },

  'behind a trusted proxy every client has a budget of its own': async (store) => {
    const world = await openWorld(store, { limiter, trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
    const via = (forwarded: string, remoteAddress = '127.0.0.1'): Promise<Answer> =>
      world.inject({
        method: 'GET',
        url: '/api/v1/me',
        remoteAddress,
        headers: { 'x-forwarded-for': forwarded },
      });
    await times(100, () => via('192.0.2.1'), 401);
    assertThrottled(await via('192.0.2.1'), '60');
    // Text that a client puts before its address does not change the key.
    assertThrottled(await via('198.51.100.1, 192.0.2.1, 10.0.0.1'), '60');
    assert.equal((await via('192.0.2.2')).status, 401);
    // The header of an untrusted peer is ignored.
    await times(100, () => via('192.0.2.3', '203.0.113.1'), 401);
    assertThrottled(await via('192.0.2.4', '203.0.113.1'), '60');
    assert.equal((await via('192.0.2.3')).status, 401);
    await world.close();
  },

  'a request that is refused with 403 is no write': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const [near, far] = [await customer.namespace(), await customer.namespace()];
    const key = await customer.key({ namespaces: [near.name] });
    const reader = await customer.key({ operations: ['read'] });
    const beyond = () => key.post('/records', { record: { key: `r.${far.name}.v1`, data: '' } });
    await times(100, beyond, 403);
    await times(100, () => write(reader), 403);
    await times(LIMITS.writesPerMinute - 4, () => write(key), 404);
    assertThrottled(await write(key), '60');
    await world.close();
  },

  'unknown paths draw on the same budget': async (store) => {
    const world = await openWorld(store, { limiter });
    const nobody = world.caller(null);
    await times(100, () => nobody.get('/nothing'), 404);
    assertThrottled(await nobody.get('/nothing'), '60');
    assertThrottled(await nobody.get('/me'), '60');
    await world.close();
  },

  'the record cap of a tier, both sides, and under concurrency': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer('free');
    const { id, name } = await customer.namespace();
    const bulk = (from: number, count: number) => ({
      records: Array.from({ length: count }, (_, i) => ({ key: `k${from + i}.r.${name}.v1`, data: '' })),
    });
    await customer.post('/records/bulk', bulk(0, 500));
    await customer.post('/records/bulk', bulk(500, 490));
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        customer.post('/records', { record: { key: `c${i}.r.${name}.v1`, data: '' } }),
      ),
    );
    assert.equal(answers.filter((answer) => answer.status === 201).length, 10);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      assertFailure(answer, 422, 'quota_exceeded', 'Record limit of the account reached');
    }
    assert.equal((await customer.get('/me')).json.records_count, TIERS.free.records);
    assert.equal((await customer.get(`/namespaces/${id}`)).json.records_count, TIERS.free.records);
    assert.equal((await customer.get('/records')).json.length, TIERS.free.records);
    const [first] = (await customer.get('/records?limit=1')).json;
    assert.equal((await customer.patch(`/records/${first.id}`, { record: { data: 'AAAA' } })).status, 200);
    await customer.del(`/records/${first.id}`);
    await customer.record(`again.r.${name}.v1`);
    await world.close();
  },

  'of many that create one key, one does': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { name } = await customer.namespace();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        customer.post('/records', { record: { key: `r.${name}.v1`, data: '' } }),
      ),
    );
    assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
    assert.ok(answers.every(({ status }) => status === 201 || status === 422));
    assert.equal((await customer.get('/me')).json.records_count, 1);
    await world.close();
  },

  'writes and a deletion of their namespace at once leave true counts': async (store) => {
    const world = await openWorld(store);
    const customer = await world.customer();
    const { id, name } = await customer.namespace();
    const create = (i: number) =>
      customer.post('/records', { record: { key: `k${i}.r.${name}.v1`, data: '' } });
    const bulk = (i: number) =>
      customer.post('/records/bulk', { records: [{ key: `b${i}.r.${name}.v1`, data: '' }] });
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, (_, i) => create(i)),
      ...Array.from({ length: 10 }, (_, i) => bulk(i)),
      customer.del(`/namespaces/${id}`),
      ...Array.from({ length: 10 }, (_, i) => create(10 + i)),
    ]);
    assert.ok(answers.every(({ status }) => [200, 201, 204, 422].includes(status)));
    assert.equal((await customer.get('/me')).json.records_count, 0);
    assert.deepEqual((await customer.get('/records')).json, []);
    await world.close();
  },
});
