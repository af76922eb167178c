import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRateMemory, periodEnd, RateTable } from './rate-limit.ts';

const NOW = 1_700_000_000;

test('counts by key and kind, and starts at zero in each period', () => {
  const table = new RateTable(createRateMemory());
  const count = (high: number, low: number, kind: number, now: number): number =>
    table.count(high, low, kind, now, 10);
  assert.deepEqual(
    [count(1, 2, 0, NOW), count(1, 2, 0, NOW), count(1, 3, 0, NOW), count(2, 2, 0, NOW), count(1, 2, 1, NOW)],
    [1, 2, 1, 1, 1],
  );
  assert.equal(count(1, 2, 0, NOW + 9), 3);
  assert.equal(count(1, 2, 0, NOW + 10), 1);
  assert.equal(count(1, 2, 0, NOW + 19), 2);
  assert.equal(count(1, 2, 0, NOW + 20), 1);
});

test('periods begin and end at multiples of their length', () => {
  const table = new RateTable(createRateMemory());
  const end = periodEnd(NOW + 3, 60);
  assert.equal(end % 60, 0);
  assert.ok(end > NOW + 3 && end <= NOW + 63);
  assert.equal(periodEnd(end, 60), end + 60);
  const counts = [NOW + 3, end - 1, end].map((now) => table.count(1, 1, 0, now, 60));
  assert.deepEqual(counts, [1, 2, 1]);
});

test('tables on the same memory count together', () => {
  const memory = createRateMemory();
  const [one, other] = [new RateTable(memory), new RateTable(memory)];
  one.count(7, 7, 0, NOW, 1);
  assert.equal(other.count(7, 7, 0, NOW, 1), 2);
});

test('other memory, other positions: collisions of keys cannot be predicted', () => {
  const words = (memory: SharedArrayBuffer): string => {
    new RateTable(memory).count(7, 7, 0, NOW, 1);
    return Buffer.from(new Uint8Array(memory)).subarray(16).toString('hex');
  };
  assert.notEqual(words(createRateMemory(16)), words(createRateMemory(16)));
});

test('a flood of keys takes no more memory, and spares the bucket that counted most', () => {
  const memory = createRateMemory(1);
  const table = new RateTable(memory);
  for (let i = 0; i < 50; i++) table.count(1, 1, 0, NOW, 1);
  for (let key = 2; key < 10_000; key++) table.count(key, key, 0, NOW, 1);
  assert.equal(table.count(1, 1, 0, NOW, 1), 51);
});

test('of many keys each has its own count, but for a few that are put out', () => {
  const table = new RateTable(createRateMemory());
  for (let round = 1; round <= 3; round++) {
    let exact = 0;
    for (let key = 0; key < 20_000; key++) {
      if (table.count(key << 8, 0, key & 3, NOW, 1) === round) exact++;
    }
    assert.ok(exact > 19_600, `${exact} of 20,000 in round ${round}`);
  }
});

test('counts with an end beyond a clock that was set back are replaced first', () => {
  const table = new RateTable(createRateMemory(1));
  const keys = [1, 2, 3, 4];
  for (const key of keys) for (let i = 0; i < 9; i++) table.count(key, 0, 0, NOW + 7200, 60);
  for (const key of keys) assert.equal(table.count(key << 8, 0, 0, NOW, 1), 1);
  for (const key of keys) assert.equal(table.count(key << 8, 0, 0, NOW, 1), 2);
});
