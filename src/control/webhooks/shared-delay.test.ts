import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { createSharedDelay } from './dispatcher.ts';

test('callers resolve together, later callers after the next delay', async () => {
  const delay = createSharedDelay(5, realTimers);
  const order: string[] = [];
  const first = delay();
  assert.equal(delay(), first);
  await first.then(() => order.push('first'));
  const second = delay();
  assert.notEqual(second, first);
  await second.then(() => order.push('second'));
  assert.deepEqual(order, ['first', 'second']);
});

test('a delay of 0 resolves at once', async () => {
  const delay = createSharedDelay(0, realTimers);
  let isOver = false;
  void delay().then(() => {
    isOver = true;
  });
  await Promise.resolve();
  assert.equal(isOver, true);
});
