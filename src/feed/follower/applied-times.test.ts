import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAppliedTimes } from './health.ts';

test('a change was applied with the batch that it was in', () => {
  let now = 1000;
  const times = createAppliedTimes(() => now, 10);
  assert.equal(times.at(11), null);
  times.note(12);
  now = 2000;
  times.note(12);
  times.note(15);
  assert.deepEqual(
    [9, 10, 11, 12, 13, 15, 16].map((seq) => times.at(seq)),
    [null, null, 1000, 1000, 2000, 2000, null],
  );
});

test('times of so many batches are kept, and none of a database before', () => {
  let now = 0;
  const times = createAppliedTimes(() => now, 0, 3);
  for (now = 1; now <= 5; now++) times.note(now * 10);
  assert.deepEqual(
    [20, 21, 30, 50].map((seq) => times.at(seq)),
    [null, 3, 3, 5],
  );
  times.note(4);
  assert.deepEqual(
    [1, 4, 5, 50].map((seq) => times.at(seq)),
    [6, 6, null, null],
  );
});
