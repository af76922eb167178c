import assert from 'node:assert/strict';
import { apiScenarios } from '../../test/support/http/engines.ts';
import { openWorld } from '../../test/support/http/world.ts';
import { sharedLimiter } from '../control/shared-limiter.ts';

/** Which requests wake the readers of the change log. */
apiScenarios('wake-ups', {
  '50 reads wake nobody, and a write wakes with its seq': async (store) => {
    const world = await openWorld(store, { limiter: (clock) => sharedLimiter(store, clock) });
    const customer = await world.customer();
    await customer.namespace();
    const key = await customer.key({ operations: ['read'] });
    const { head } = await store.changes.bounds();
    const told: number[] = [];
    const stop = store.changes.onChange((seq) => told.push(seq));
    for (let i = 0; i < 50; i++) assert.equal((await key.get('/namespaces')).status, 200);
    await customer.namespace();
    stop();
    assert.deepEqual(
      told.filter((seq) => seq > head),
      [head + 1],
    );
    // On PostgreSQL the listening connection reports the head once, when it opens.
    assert.ok(told.length <= 2, String(told));
    await world.close();
  },
});
