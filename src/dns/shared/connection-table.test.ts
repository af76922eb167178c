import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../../base/limits.ts';
import { ConnectionTable, createConnectionMemory, releaseConnections } from './connection-table.ts';

test('the counts of a worker that died are cleared when it ends and when another starts in its place', () => {
  const memory = createConnectionMemory(3);
  const tables = [0, 1, 2].map((worker) => new ConnectionTable(memory, worker));
  for (const table of tables) {
    for (let i = 0; i < 5; i++) {
      table.add(1, 2, 1);
      table.opened('dot');
    }
  }
  assert.equal(tables[0]!.count(1, 2, 1), 15);
  releaseConnections(memory, 1);
  assert.equal(tables[0]!.count(1, 2, 1), 10);
  assert.equal(tables[0]!.open('dot'), 10, 'its places are free');
  const next = new ConnectionTable(memory, 2);
  assert.equal(next.count(1, 2, 1), 5);
  assert.equal(next.open('dot'), 5);
  assert.equal(next.open('doh'), 0);
  // What the old one still reports does no harm: it has nothing left.
  next.remove(1, 2, 1);
  next.closed('dot');
  assert.equal(next.count(1, 2, 1), 5);
  assert.equal(next.open('dot'), 5);
});

test('as many keys as there can be connections fit, in each worker', () => {
  for (const workers of [1, 5]) {
    const table = new ConnectionTable(createConnectionMemory(workers), workers - 1);
    const keys = LIMITS.tcpConnections * 9;
    for (let key = 0; key < keys; key++) table.add(key << 8, key, 1 + (key % 8));
    assert.equal(table.size, keys);
    for (let key = 0; key < keys; key++) table.remove(key << 8, key, 1 + (key % 8));
    assert.equal(table.size, 0);
  }
});

test('any order of opening and closing leaves what is open, and nothing else', () => {
  const key = fc.nat({ max: 40 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 1 }), key), { maxLength: 300 }), (steps) => {
      const memory = createConnectionMemory(2, 2);
      const tables = [new ConnectionTable(memory, 0), new ConnectionTable(memory, 1)] as const;
      const open = new Map<string, number>();
      for (const [opens, worker, of] of steps) {
        const id = `${worker} ${of}`;
        const count = open.get(id) ?? 0;
        if (opens && open.size < 30) {
          tables[worker]!.add(of, of * 7, 1 + (of % 3));
          open.set(id, count + 1);
        } else if (count > 0) {
          tables[worker]!.remove(of, of * 7, 1 + (of % 3));
          open.set(id, count - 1);
        }
      }
      for (let of = 0; of <= 40; of++) {
        const expected = (open.get(`0 ${of}`) ?? 0) + (open.get(`1 ${of}`) ?? 0);
        assert.equal(tables[0].count(of, of * 7, 1 + (of % 3)), expected);
      }
      assert.equal(tables[0].size + tables[1].size, [...open.values()].filter((count) => count > 0).length);
    }),
    { numRuns: 100 },
  );
});
