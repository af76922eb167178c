import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from './fair-queue.ts';

interface Item {
  readonly source: number;
  readonly name: number;
  readonly id: number;
}

function scene(capacity: number) {
  const displaced: Item[] = [];
  const queue = new FairQueue<Item>(capacity, (item) => displaced.push(item));
  let id = 0;
  const offer = (source: number, name: number, weight = 1): boolean => {
    if (!queue.makeRoom(source, name, weight)) return false;
    queue.push({ source, name, id: id++ }, source, name, weight);
    return true;
  };
  const all = (): Item[] => {
    const taken: Item[] = [];
    for (let item = queue.next(); item !== undefined; item = queue.next()) taken.push(item);
    return taken;
  };
  return { queue, displaced, offer, all };
}

test('of one source and one name: first in, first out', () => {
  const { offer, all } = scene(10);
  for (let i = 0; i < 10; i++) assert.ok(offer(1, 1));
  assert.deepEqual(
    all().map(({ id }) => id),
    [...Array(10).keys()],
  );
});

/** What waits, who comes last, and after how many others it may go: its group has a turn after one of each other group, and every second turn. */
const LAST: readonly {
  readonly what: string;
  readonly flood: (i: number) => readonly [source: number, name: number];
  readonly last: readonly [source: number, name: number];
  readonly within: number;
}[] = [
  { what: 'another name, one flooded from 64 sources', flood: (i) => [i % 64, 1], last: [5, 2], within: 3 },
  { what: 'another source, one with 300 names', flood: (i) => [1, i % 300], last: [2, 7], within: 3 },
  { what: 'another source, one with one name', flood: () => [1, 1], last: [2, 1], within: 3 },
  { what: 'a third name of two', flood: (i) => [i % 64, i % 2], last: [3, 9], within: 5 },
];
for (const { what, flood, last, within } of LAST) {
  test(`who comes last goes among the first: ${what}`, () => {
    const { offer, all } = scene(1000);
    for (let i = 0; i < 900; i++) offer(...flood(i));
    offer(...last);
    const at = all().findIndex(({ id }) => id === 900);
    assert.ok(at <= within, `number ${at}`);
  });

  test(`who comes last has room in a full queue, and another of the flood has none: ${what}`, () => {
    const { offer, displaced, queue } = scene(900);
    for (let i = 0; i < 900; i++) offer(...flood(i));
    assert.equal(offer(...last), true);
    assert.equal(queue.length, 900);
    assert.equal(displaced.length, 1);
    assert.ok(displaced[0]!.id > 500, 'a late one');
    for (let i = 0; i < 900; i++) offer(...flood(i));
    assert.ok(queue.holds(last[1]));
  });
}

test('what may not go now keeps its place, and nothing behind it waits for it', () => {
  const { queue, offer } = scene(10);
  for (let i = 0; i < 4; i++) offer(1, 1);
  offer(1, 2);
  assert.equal(queue.next((name) => name === 2)?.id, 4);
  assert.equal(
    queue.next((name) => name === 2),
    undefined,
  );
  assert.equal(queue.length, 4);
  assert.equal(queue.next()?.id, 0);
});

test('a name and a source of which something gives way keep their turns', () => {
  for (const swap of [false, true]) {
    const { queue, offer, displaced } = scene(4);
    const add = (a: number, b: number): boolean => (swap ? offer(b, a) : offer(a, b));
    // The first turn is that of a source.
    if (!swap) assert.ok(add(9, 9) && queue.next());
    for (const [source, name] of [
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 2],
    ] as const)
      assert.ok(add(source, name));
    const last = swap ? 5 : 6;
    assert.ok(add(last, last));
    assert.equal(displaced.length, 1);
    const { source, name } = queue.next()!;
    assert.equal(swap ? source : name, 1, 'it was there before the others');
  }
});

test('of questions that are equally heavy the one that came last gives way, not the one whose turn is next', () => {
  for (const swap of [false, true]) {
    const { offer, displaced } = scene(4);
    for (let i = 0; i < 4; i++) assert.ok(swap ? offer(7, i) : offer(i, 7));
    assert.ok(offer(8, 8));
    assert.deepEqual(
      displaced.map(({ id }) => id),
      [3],
    );
  }
});

test('weights: what is heavy takes the room of many, and gives way before many light ones', () => {
  const { queue, offer, displaced } = scene(100);
  assert.ok(offer(1, 1, 60));
  for (let i = 0; i < 40; i++) assert.ok(offer(2, 2));
  assert.ok(offer(3, 3));
  assert.deepEqual(
    displaced.map(({ id }) => id),
    [0],
  );
  assert.equal(offer(4, 4, 101), false, 'more than there is room for at all');
  assert.equal(queue.holds(1), false);
});

test('a heavy newcomer for which not enough gives way takes nothing from anybody', () => {
  const { offer, displaced, all } = scene(6);
  for (const share of [1, 1, 2, 3, 4, 5]) assert.ok(offer(share, share));
  assert.equal(offer(9, 9, 3), false);
  assert.deepEqual(displaced, []);
  assert.deepEqual(
    all().map(({ id }) => id),
    [0, 2, 3, 4, 5, 1],
  );
});

test('the heaviest gives way, source or name, also when another one was it before', () => {
  const { queue, offer, displaced } = scene(1000);
  for (let i = 0; i < 600; i++) offer(i % 64, 1);
  for (let i = 0; i < 50; i++) offer(100, 200 + i);
  for (let i = 0; i < 350; i++) offer(i % 64, 2);
  offer(70, 70);
  for (let i = 0; i < 590; i++) queue.next((name) => name === 1);
  for (let i = 0; i < 590; i++) offer(100, 300 + i);
  offer(71, 71);
  offer(72, 3);
  assert.deepEqual(
    displaced.map(({ source, name }) => (source === 100 ? 'source 100' : `name ${name}`)),
    ['name 1', 'source 100', 'source 100'],
  );
});

test('whatever came and went, what gives way is of the heaviest source or name, and heavier than the newcomer', () => {
  const waiting: { source: number; name: number }[] = [];
  const weight = (key: 'source' | 'name', share: number): number =>
    waiting.filter((one) => one[key] === share).length;
  const heaviest = (key: 'source' | 'name'): number =>
    Math.max(...waiting.map((one) => weight(key, one[key])));
  const around = (one: { source: number; name: number }): number =>
    weight('source', one.source) + weight('name', one.name);
  const gone: { source: number; name: number }[] = [];
  const queue = new FairQueue<{ source: number; name: number }>(40, (one) => gone.push(one));
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  let displaced = 0;
  for (let i = 0; i < 6000; i++) {
    if (random(10) < 3) {
      const one = queue.next((name) => name % 3 !== i % 3);
      if (one !== undefined) waiting.splice(waiting.indexOf(one), 1);
      continue;
    }
    const flood = Math.floor(i / 500) % 3;
    const one = {
      source: flood === 0 ? random(3) : random(20),
      name: flood === 1 ? random(3) : random(20),
    };
    const isFull = waiting.length === 40;
    const hasRoom = queue.makeRoom(one.source, one.name);
    assert.ok(hasRoom || isFull);
    for (const other of gone.splice(0)) {
      displaced++;
      assert.ok(around(other) > around(one) + 1);
      assert.ok(
        weight('source', other.source) === heaviest('source') ||
          weight('name', other.name) === heaviest('name'),
      );
      waiting.splice(waiting.indexOf(other), 1);
    }
    if (!hasRoom) continue;
    queue.push(one, one.source, one.name);
    waiting.push(one);
    assert.equal(queue.length, waiting.length);
  }
  assert.ok(displaced > 300, `${displaced}`);
});

test('two that want all have half each, and change by turns; equals do not displace each other', () => {
  const { offer, all, displaced } = scene(100);
  for (let i = 0; i < 100; i++) offer(1, 1);
  for (let i = 0; i < 100; i++) offer(2, 1);
  for (let i = 0; i < 100; i++) offer(1 + (i % 2), 1);
  assert.equal(displaced.length, 50);
  const sources = all().map(({ source }) => source);
  assert.equal(sources.filter((source) => source === 1).length, 50);
  for (let i = 2; i < 100; i++) assert.equal(sources[i], sources[i - 2]);
});

test('a queue that was emptied, by turns or by what gave way, begins anew for the same shares and for others', () => {
  const { queue, offer, displaced, all } = scene(2);
  const shares = [
    [1, 1],
    [1, 1],
    [2, 1],
    [2, 3],
    [1, 3],
  ] as const;
  for (const [source, name] of shares) {
    assert.ok(offer(source, name));
    assert.ok(queue.holds(name));
    assert.deepEqual(
      all().map((one) => [one.source, one.name]),
      [[source, name]],
    );
    assert.deepEqual([queue.length, queue.holds(name), queue.next()], [0, false, undefined]);
  }
  assert.equal(offer(9, 9, 3), false);
  assert.ok(offer(1, 3) && offer(4, 3) && !offer(1, 3));
  assert.deepEqual(
    all().map((one) => [one.source, one.name]),
    [
      [1, 3],
      [4, 3],
    ],
  );
  assert.deepEqual(displaced, []);
});
