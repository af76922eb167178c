import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Customer, openWorld } from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { LIMITS } from '../../base/limits.ts';
import { addAuditRows } from '../../store/audit.ts';
import type { Store } from '../../store/store.ts';
import { openRefusals } from './refusals.ts';

describe('refusals that wait', () => {
  /** A store whose units do nothing. */
  function counting(write: () => Promise<void> = async () => {}) {
    let units = 0;
    const store = {
      async write() {
        units++;
        await write();
      },
    } as unknown as Store;
    return { store, units: () => units };
  }

  it('are written by the clock, of 1,000 customers at most', async () => {
    for (const [customers, units] of [
      [LIMITS.auditRefusalsWaiting, 50],
      [LIMITS.auditRefusalsWaiting + 1, 50],
      [LIMITS.auditRefusalsWaiting - 20, 49],
    ] as const) {
      const timers = createManualTimers();
      const written = counting();
      const refusals = openRefusals({ store: written.store, clock: () => 0, timers }, assert.ifError);
      for (let i = 0; i < customers; i++) refusals.signInFailed({ userId: `user ${i}` }, 'request');
      await timers.advance(999);
      assert.equal(written.units(), 0);
      await timers.advance(1);
      await refusals.settle();
      assert.equal(written.units(), units);
      assert.deepEqual(timers.pending(), []);
    }
  });

  it('are lost when they cannot be written, and later ones are not', async () => {
    const timers = createManualTimers();
    const faults: unknown[] = [];
    let fails = true;
    const written = counting(async () => {
      if (fails) throw new Error('the database is away');
    });
    const options = { store: written.store, clock: () => 0, timers };
    const refusals = openRefusals(options, (error) => faults.push(error));
    refusals.signInFailed({ userId: 'a' }, 'request');
    await refusals.settle();
    fails = false;
    refusals.signInFailed({ userId: 'a' }, 'request');
    await timers.advance(1_000);
    await refusals.settle();
    assert.deepEqual([written.units(), faults.length], [2, 1]);
  });
});

apiScenarios('exports of the audit log', {
  'a second one of a person at once is 429, those of others are not, and after the first has ended there is room':
    async (store) => {
      const world = await openWorld(store);
      const [customer, other] = [await world.customer(), await world.customer()];
      const origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
      const ask = ({ token }: Customer): Promise<Response> =>
        fetch(`${origin}/api/v1/audit/export`, { headers: { authorization: `Bearer ${token}` } });
      // Too long for the buffers on the way.
      const [row] = await findRows(store.read, 'audit_log', { where: { customer_id: customer.id } });
      const rows = Array.from({ length: 20_000 }, (_, i) => ({ ...row!, at: world.now() + i }));
      await store.write((tx) => addAuditRows(tx, rows));
      const first = await ask(customer);
      assert.equal(first.status, 200);
      const second = await ask(customer);
      assert.deepEqual([second.status, second.headers.get('retry-after')], [429, '10']);
      await second.text();
      assert.equal((await (await ask(other)).text()).trim().split('\n').length, 1);
      assert.equal((await first.text()).trim().split('\n').length, rows.length + 1);
      let again = await ask(customer);
      while (again.status !== 200) {
        await again.text();
        again = await ask(customer);
      }
      await again.body?.cancel();
      await world.close();
    },
});
