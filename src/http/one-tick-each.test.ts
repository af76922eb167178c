import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { oneTickEach } from './streams.ts';

test('of many callers one goes on in each tick of the event loop, in order', async () => {
  const tick = oneTickEach();
  const order: number[] = [];
  const callers = Array.from({ length: 20 }, async (_, i) => {
    await tick();
    order.push(i);
  });
  for (let before = 0; order.length < callers.length; before = order.length) {
    await nextTick();
    assert.ok(order.length <= before + 1, `${order.length - before} callers in one tick`);
  }
  await Promise.all(callers);
  assert.deepEqual(order, Array.from(order.keys()));
});
