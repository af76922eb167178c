import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { limiterOf as limiter } from '../../test/support/http/server-parts.ts';
import {
  type Answer,
  assertFailure,
  type Customer,
  openWorld,
  type World,
} from '../../test/support/http/world.ts';
import { LIMITS } from '../base/limits.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** A JSON string of this length: no bulk write, and counted all the same. */
const body = (octets: number): string => `"${'x'.repeat(octets - 2)}"`;

const usedBy = async (customer: Customer): Promise<number> =>
  (await customer.get('/usage')).json.writes.minute.used;

const announced = (customer: Customer, octets: number): Promise<Answer> =>
  customer.send('POST', '/records/bulk', body(octets), JSON_TYPE);

const inChunks = (world: World, customer: Customer, octets: number): Promise<Answer> =>
  world.inject({
    method: 'POST',
    url: '/api/v1/records/bulk',
    headers: { authorization: `Bearer ${customer.token}`, ...JSON_TYPE, 'transfer-encoding': 'chunked' },
    payload: Readable.from([body(octets)], { objectMode: false }),
  });

function assertThrottled(answer: Answer): void {
  assertFailure(answer, 429, 'rate_limit_exceeded', 'Rate limit exceeded');
}

apiScenarios('octets of writes', {
  'a write counts one for each 256 KiB of its body that has begun': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    let expected = 0;
    for (const [octets, status, writes] of [
      [LIMITS.writeOctets, 400, 1],
      [LIMITS.writeOctets + 1, 400, 2],
      [LIMITS.bulkBody, 400, 16],
      // Of what is too large nothing is read.
      [LIMITS.bulkBody + 1, 413, 1],
      [LIMITS.bulkBody, 400, 16],
    ] as const) {
      assert.equal((await announced(customer, octets)).status, status);
      expected += writes;
      assert.equal(await usedBy(customer), expected);
    }
    assert.equal((await announced(customer, LIMITS.writeOctets * 8)).status, 400);
    // 44 of 60: 16 more fit, and then nothing.
    assert.equal((await announced(customer, LIMITS.bulkBody)).status, 400);
    assertThrottled(await announced(customer, 2));
    world.advance(60_000);
    assert.equal((await announced(customer, 2)).status, 400);
    await world.close();
  },

  'a body whose length was not announced counts when it has come, and one that does not fit counts as none':
    async (store) => {
      const world = await openWorld(store, { limiter });
      const customer = await world.customer();
      let expected = 0;
      for (const [octets, status, writes] of [
        [LIMITS.writeOctets, 400, 1],
        [LIMITS.bulkBody, 400, 16],
        [LIMITS.bulkBody + 1, 413, 1],
        [LIMITS.bulkBody, 400, 16],
        [LIMITS.bulkBody, 400, 16],
        [LIMITS.bulkBody, 429, 0],
      ] as const) {
        const answer = await inChunks(world, customer, octets);
        assert.equal(answer.status, status, answer.text);
        expected += writes;
        assert.equal(await usedBy(customer), expected);
      }
      assertThrottled(await announced(customer, LIMITS.bulkBody));
      assert.equal((await announced(customer, 2)).status, 400);
      await world.close();
    },

  'a bulk write of several writes that is refused with 403 counts as none': async (store) => {
    const world = await openWorld(store, { limiter });
    const customer = await world.customer();
    const [near, far] = [await customer.namespace(), await customer.namespace()];
    const key = await customer.key({ namespaces: [near.name] });
    const used = await usedBy(customer);
    const data = Buffer.alloc(LIMITS.recordData).toString('base64');
    const records = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}.r.${far.name}.v1`, data }));
    assert.ok(JSON.stringify({ records }).length > LIMITS.writeOctets);
    assert.equal((await key.post('/records/bulk', { records })).status, 403);
    assert.equal(await usedBy(customer), used);
    await world.close();
  },
});
