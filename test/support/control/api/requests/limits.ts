import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { LIMITS } from '../../../../../src/core/limits.ts';
import { TIERS } from '../../../../../src/core/tiers.ts';
import { newOrganization } from '../organizations/rig.ts';
import { listen, openEvents } from '../query-log/event-reader.ts';
import { limiterOf } from '../server-parts.ts';
import {
  type Answer,
  assertFailure,
  type Caller,
  type Customer,
  created,
  openWorld,
  type Scenarios,
  type World,
} from '../world.ts';

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

/** Asks for a large page and takes only its beginning: what the server cannot send waits there. @returns the server's end */
async function unreadPage({ app }: World, { token }: Caller): Promise<Duplex> {
  const [client, end] = duplexPair();
  app.server.emit('connection', end);
  client.on('error', () => {});
  client.write(`GET /api/v1/records?limit=500 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await once(client, 'readable');
  return end;
}

export const limitScenarios: Scenarios = {
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

  '1,000 requests a minute': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const read = (): Promise<Answer> => customer.get('/records/x');
    await times(LIMITS.authenticatedPerMinute, read, 404);
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

  'a fifth listing at once is 429, until one of the four has ended': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
    const list = (caller: Caller): Promise<Response> =>
      fetch(`${origin}/api/v1/records`, { headers: { authorization: `Bearer ${caller.token}` } });
    const { id, name } = await customer.namespace();
    // Listings that nobody reads, and that are too long for the buffers on the way.
    const data = Buffer.alloc(LIMITS.recordData).toString('base64');
    for (let batch = 0; batch < 6; batch++) {
      const records = Array.from({ length: 500 }, (_, i) => ({ key: `k${batch}-${i}.r.${name}.v1`, data }));
      assert.equal((await customer.post('/records/bulk', { records })).status, 200);
    }
    const open = await Promise.all(Array.from({ length: LIMITS.listingsPerCustomer }, () => list(customer)));
    assert.deepEqual(
      open.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    const fifth = await list(customer);
    assert.deepEqual([fifth.status, fifth.headers.get('retry-after')], [429, '10']);
    assert.equal(((await fifth.json()) as { error: string }).error, 'Too many listings are being read');
    assert.equal((await customer.get(`/namespaces/${id}/export`)).status, 429);
    assert.equal((await customer.get('/records?limit=1')).status, 200);
    assert.deepEqual(await (await list(other)).json(), []);
    assert.equal(((await open[0]!.json()) as unknown[]).length, 3000);
    for (let again = await list(customer); again.status !== 200; again = await list(customer))
      await again.text();
    for (const answer of open.slice(1)) await answer.body?.cancel();
    await world.close();
  },

  'a ninth page at once is 429, until one of the eight has ended': async (store) => {
    const world = await openWorld(store);
    const [customer, other] = [await world.customer(), await world.customer()];
    const origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
    const page = ({ token }: Caller): Promise<Response> =>
      fetch(`${origin}/api/v1/records?limit=500`, { headers: { authorization: `Bearer ${token}` } });
    const data = Buffer.alloc(LIMITS.recordData).toString('base64');
    const { name } = await customer.namespace();
    const records = Array.from({ length: 500 }, (_, i) => ({ key: `k${i}.r.${name}.v1`, data }));
    assert.equal((await customer.post('/records/bulk', { records })).status, 200);
    // On a busy machine the first may end before the last is counted: then it is asked again.
    let refused = 0;
    for (let attempt = 0; attempt < 20 && refused === 0; attempt++) {
      const asked = Array.from({ length: LIMITS.pagesPerCustomer + 1 }, () =>
        customer.get('/records?limit=500'),
      );
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      refused = statuses.filter((status) => status === 429).length;
      assert.equal(statuses.filter((status) => status === 200).length + refused, statuses.length);
    }
    assert.equal(refused, 1);
    // Pages that were read, or whose reader is gone, count no longer.
    for (let i = 0; i < LIMITS.pagesPerCustomer; i++) await (await page(customer)).body?.cancel();
    for (let again = await page(customer); ; again = await page(customer)) {
      if (again.status === 200) {
        assert.equal(((await again.json()) as unknown[]).length, 500);
        break;
      }
      await again.text();
    }
    assert.deepEqual(await (await page(other)).json(), []);
    await world.close();
  },

  'four persons who read large pages slowly do not shut others out of listing records (finding 5 of the second security review)':
    async (store) => {
      const world = await openWorld(store);
      const origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
      const data = Buffer.alloc(LIMITS.recordData).toString('base64');
      const fill = async (customer: Customer): Promise<void> => {
        const { name } = await customer.namespace();
        const records = Array.from({ length: 500 }, (_, i) => ({ key: `k${i}.r.${name}.v1`, data }));
        assert.equal((await customer.post('/records/bulk', { records })).status, 200);
      };
      const slow: Duplex[] = [];
      const holders: Caller[] = [];
      for (let i = 0; i < LIMITS.pages / LIMITS.pagesPerCustomer; i++) {
        const customer = await world.customer();
        holders.push(customer);
        await fill(customer);
        for (let j = 0; j < LIMITS.pagesPerCustomer; j++) slow.push(await unreadPage(world, customer));
      }
      const page = async ({ token }: Caller, limit: number): Promise<number> => {
        const headers = { authorization: `Bearer ${token}` };
        const answer = await fetch(`${origin}/api/v1/records?limit=${limit}`, { headers });
        await answer.text();
        return answer.status;
      };
      // Places are taken: who has eight gets no more, but a small page needs no place.
      assert.equal(await page(holders[0]!, 500), 429);
      assert.equal(await page(holders[0]!, 10), 200);
      const other = await world.customer();
      await fill(other);
      assert.equal(await page(other, 10), 200);
      for (let i = 0; i < 5; i++) assert.equal(await page(other, 500), 200);
      // One of those who read slowly had to give way.
      assert.equal(slow.filter(({ destroyed }) => destroyed).length, 1);
      for (const end of slow) end.destroy();
      await world.close();
    },

  'places count for a person: organizations bring no further ones (finding 12 of the second security review)':
    async (store) => {
      const world = await openWorld(store);
      const port = await listen(world);
      const { owner, asOwner } = await newOrganization(world);
      const key = created(await asOwner.post('/api_keys', { api_key: { name: 'k' } }));
      const callers = [await owner.key(), asOwner, world.caller(key.token)];
      const readers = [];
      for (const caller of callers) readers.push(await openEvents(port, caller));
      assert.deepEqual(
        readers.map(({ status }) => status),
        [200, 200, 200],
      );
      for (const caller of [...callers, owner]) assert.equal((await openEvents(port, caller)).status, 429);
      for (const reader of readers) reader.close();
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
};
