import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { account, writeRecords } from '../support/server-process.ts';
import { createHook, deliveriesOf, type Hook, type Told, until } from './hooks.ts';
import type { Arrival } from './receiver.ts';
import { openWorld } from './world.ts';

const HOOKS = 20;
const RECORDS = 500;
const ALL = HOOKS * RECORDS;

describe('SIGKILL in the middle of 10,000 deliveries', () => {
  it('loses none, sends again under the same id, and keeps the order of first attempts', async () => {
    const world = await openWorld(HOOKS);
    let server = await world.start({ UQRP_WORKERS: '1' });
    try {
      let customer = account(server);
      await customer.call('POST', '/namespaces', { namespace: { name: 'killed' } });
      const hooks: Hook[] = [];
      for (let n = 0; n < HOOKS; n++) {
        hooks.push(await createHook(customer, world.url('ok', n), ['record.upserted']));
      }
      await writeRecords(
        customer,
        Array.from({ length: RECORDS }, (_, i) => ({ key: `r${i}.killed.v1`, data: 'aGk=' })),
      );
      // Twice: once early, while it is still enqueueing perhaps, and once in the middle.
      for (const share of [0.1, 0.5]) {
        await until('enough of them', async () => (await world.count()) >= ALL * share, 200);
        const gone = once(server.child, 'exit');
        server.child.kill('SIGKILL');
        await gone;
        server = await world.start({ UQRP_WORKERS: '1' }, server.dataDir);
        customer = customer.at(`http://127.0.0.1:${server.ports.http}/api/v1`);
      }
      await until(
        'the end of all',
        async () => {
          for (const hook of hooks) {
            if ((await deliveriesOf(customer, hook, '?status=pending&limit=1')).length > 0) return false;
          }
          return (await world.count()) >= ALL;
        },
        300,
      );
      const arrivals = await world.take();
      for (const hook of hooks) compare(hook, arrivals);
      process.stdout.write(`${ALL} deliveries, ${arrivals.length - ALL} of them twice\n`);
      assert.ok(arrivals.length - ALL <= 2 * HOOKS, 'at most what was in flight at a kill arrives again');
    } finally {
      await server.remove();
      await world.close();
    }
  });
});

function compare(hook: Hook, arrivals: readonly Arrival[]): void {
  const { host } = new URL(hook.url);
  const own = arrivals.filter((arrival) => arrival.host === host);
  const seqOfId = new Map<string, number>();
  const firsts: number[] = [];
  for (const { headers, body } of own) {
    const id = headers['x-service-delivery'] ?? '';
    const { seq } = JSON.parse(body) as Told;
    const before = seqOfId.get(id);
    if (before === undefined) firsts.push(seq);
    else assert.equal(seq, before);
    seqOfId.set(id, seq);
  }
  assert.equal(firsts.length, RECORDS, 'every event arrived, each under one id');
  assert.equal(new Set(firsts).size, RECORDS);
  assert.deepEqual(
    firsts,
    firsts.toSorted((a, b) => a - b),
  );
}
