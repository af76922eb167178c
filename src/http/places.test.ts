import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { newOrganization } from '../../test/support/control/organizations/rig.ts';
import { listen, openEvents } from '../../test/support/control/query-log/event-reader.ts';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { type Caller, type Customer, created, openWorld, type World } from '../../test/support/http/world.ts';
import { LIMITS } from '../base/limits.ts';

/** Asks for a large page and takes only its beginning: what the server cannot send waits there. @returns the server's end */
async function unreadPage({ app }: World, { token }: Caller): Promise<Duplex> {
  const [client, end] = duplexPair();
  app.server.emit('connection', end);
  client.on('error', () => {});
  client.write(`GET /api/v1/records?limit=500 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await once(client, 'readable');
  return end;
}

apiScenarios('places of listings', {
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
});
