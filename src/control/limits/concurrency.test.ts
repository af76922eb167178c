import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConcurrency } from './concurrency.ts';

test('admits up to the limit of a key and of all, and again after one has left', () => {
  const places = createConcurrency({ perKey: 2, total: 3 });
  const enter = (key: string) => places.enter(key);
  const first = enter('a');
  assert.ok(first !== null && enter('a') !== null);
  assert.equal(enter('a'), null);
  assert.ok(enter('b') !== null);
  assert.equal(enter('c'), null);
  first();
  // Leaving twice frees one unit.
  first();
  assert.ok(enter('c') !== null);
  assert.equal(enter('a'), null);
});
