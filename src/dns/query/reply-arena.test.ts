import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ReplyArena } from './packet-cache.ts';

const HEADER_OCTETS = 8;

interface Held {
  readonly place: number;
  readonly octets: number;
}

/** An arena whose rows are released when `isUsed` says no, and a map of what it holds. */
function arenaOf(octets: number, isUsed: (row: number) => boolean = () => false) {
  const held = new Map<number, Held>();
  const arena = new ReplyArena(octets, (row) => !isUsed(row) && held.delete(row));
  const place = (row: number, size: number): number => {
    const at = arena.place(row, size);
    if (at < 0) return at;
    held.set(row, { place: at, octets: size });
    arena.bytes.fill(row, at, at + size);
    return at;
  };
  const free = (row: number): void => {
    arena.free(held.get(row)!.place);
    held.delete(row);
  };
  return { arena, held, place, free };
}

test('records lie one after the other, and the hand begins again at the end', () => {
  const { held, place } = arenaOf(96);
  assert.deepEqual([place(0, 24), place(1, 23), place(2, 17)], [8, 40, 72]);
  // The first record is taken, then the second.
  assert.deepEqual([place(3, 24), place(4, 24)], [8, 40]);
  assert.deepEqual([...held.keys()], [2, 3, 4]);
});

test('a record as large as the arena has room, one octet more has not', () => {
  const { held, place } = arenaOf(96);
  place(0, 20);
  assert.equal(place(1, 89), -1);
  assert.equal(place(1, 88), 8);
  assert.deepEqual([...held.keys()], [1]);
});

test('no record crosses the end: the octets before it stay free', () => {
  const { arena, place, free } = arenaOf(96);
  place(0, 24);
  place(1, 24);
  assert.equal(place(2, 40), 8);
  assert.equal(arena.octetsInUse, 48);
  free(2);
  assert.equal(arena.octetsInUse, 0);
});

test('records in use are passed over: a new one takes the octets between them', () => {
  const used = new Set([0, 2]);
  const { held, place } = arenaOf(96, (row) => used.has(row));
  for (const row of [0, 1, 2]) place(row, 24);
  assert.equal(place(3, 24), 40);
  assert.equal(place(4, 24), 40);
  assert.equal(place(5, 25), -1);
  assert.deepEqual([...held.keys()], [0, 2], 'what was taken for a record that found no room is free');
});

test('a place is given up after 64 records in use', () => {
  let asked = 0;
  const { place } = arenaOf(16 * 1000, () => ++asked > 0);
  for (let row = 0; row < 1000; row++) place(row, 8);
  assert.equal(place(1000, 8), -1);
  assert.equal(asked, 64);
});

test('random records keep their octets, do not overlap, and are counted, over many rounds', () => {
  const step = fc.record({ row: fc.nat(30), octets: fc.nat(200), use: fc.boolean(), free: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 300 }), (steps) => {
      const used = new Set<number>();
      // As the cache does: a row in use is passed once.
      const { arena, held, place, free } = arenaOf(1000, (row) => used.delete(row));
      for (const { row, octets, use, free: freeIfZero } of steps) {
        if (held.has(row)) free(row);
        if (freeIfZero > 0) place(row, octets);
        if (use) used.add(row);
        else used.delete(row);
        let sum = 0;
        for (const [other, record] of held) {
          const end = record.place + record.octets;
          assert.ok(end <= arena.bytes.length);
          assert.ok(arena.bytes.subarray(record.place, end).every((octet) => octet === other));
          sum += HEADER_OCTETS + Math.ceil(record.octets / 8) * 8;
        }
        assert.equal(arena.octetsInUse, sum);
        assert.equal(octetsOfChain(arena), arena.bytes.length);
      }
    }),
  );
});

/** Follows the headers from the first record to the last. */
function octetsOfChain({ bytes }: ReplyArena): number {
  let at = 0;
  while (at < bytes.length) {
    const octets = bytes.readInt32LE(at + 4) * 4;
    assert.ok(octets >= HEADER_OCTETS);
    at += octets;
  }
  return at;
}
