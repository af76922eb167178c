import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeOrderedUuids } from './ids.ts';

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('ids are UUIDv7 of their millisecond', () => {
  // The time of RFC 9562 appendix A.6.
  const next = timeOrderedUuids(() => 0x017f22e279b0);
  const id = next();
  assert.match(id, FORM);
  assert.match(id, /^017f22e2-79b0-7000-/);
  assert.match(next(), /^017f22e2-79b0-7001-/);
});

test('ids ascend within a millisecond, past 4096 of it, and when the clock is set back', () => {
  const times = [5, ...Array<number>(10_000).fill(5), 4, 6, 7];
  const next = timeOrderedUuids(() => times.shift()!);
  const ids = Array.from({ length: 10_004 }, next);
  for (const [i, id] of ids.entries()) {
    assert.match(id, FORM);
    if (i > 0) assert.ok(id > ids[i - 1]!);
  }
});
