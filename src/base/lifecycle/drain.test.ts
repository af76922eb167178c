import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDrain } from './loop.ts';

test('drain: what is added in one tick or during a step is worked off, and never two steps run at once', async () => {
  const queue: number[] = [];
  const steps: number[][] = [];
  let running = 0;
  const drain = createDrain(
    () => queue.length > 0,
    async () => {
      assert.equal(++running, 1);
      steps.push(queue.splice(0));
      await Promise.resolve();
      if (steps.length === 1) {
        queue.push(3);
        drain.start();
      }
      running--;
    },
  );
  for (const item of [1, 2]) {
    queue.push(item);
    drain.start();
  }
  await drain.idle();
  assert.deepEqual(steps, [[1, 2], [3]]);
});

test('drain: a start without work ends, and later work is seen', async () => {
  const queue: number[] = [];
  const drain = createDrain(
    () => queue.length > 0,
    async () => {
      queue.length = 0;
    },
  );
  drain.start();
  await drain.idle();
  queue.push(1);
  drain.start();
  await drain.idle();
  assert.deepEqual(queue, []);
});

test('drain: after a step that rejects the next start begins again', async () => {
  let work = 2;
  const drain = createDrain(
    () => work > 0,
    async () => {
      work--;
      if (work === 1) throw new Error('the first step');
    },
  );
  drain.start();
  await assert.rejects(drain.idle(), /the first step/);
  drain.start();
  await drain.idle();
  assert.equal(work, 0);
});
