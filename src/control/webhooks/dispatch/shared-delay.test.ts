import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSharedDelay } from './shared-delay.ts';

test('those who wait are let go together, later ones with the next beat', async () => {
  const beat = createSharedDelay(5);
  const order: string[] = [];
  const first = beat();
  assert.equal(beat(), first);
  await first.then(() => order.push('first'));
  const second = beat();
  assert.notEqual(second, first);
  await second.then(() => order.push('second'));
  assert.deepEqual(order, ['first', 'second']);
});

test('a beat of nothing keeps nobody', async () => {
  const beat = createSharedDelay(0);
  let isOver = false;
  void beat().then(() => {
    isOver = true;
  });
  await Promise.resolve();
  assert.equal(isOver, true);
});
