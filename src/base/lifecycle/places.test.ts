import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createPlaces, type Names, type SharedPlace, type SharedPlaces } from './places.ts';

/** A holder whose progress the test sets; `gone` names the holders that gave way, in order. */
function crowd(places: SharedPlaces) {
  const gone: string[] = [];
  const enter = (label: string, names: Names, since: number | null): SharedPlace | null =>
    places.enter(names, { since: () => since, giveWay: () => gone.push(label) });
  return { gone, enter };
}

describe('places', () => {
  it('are so many for each name and so many in all, and are free again after success and failure', async () => {
    const places = createPlaces({ all: 3, each: 2 });
    const works = Array.from({ length: 4 }, () => Promise.withResolvers<string>());
    const begin = (name: string, work: number) => places.run(name, () => works[work]!.promise);
    const [first, second] = [begin('a', 0), begin('a', 1)];
    assert.equal(begin('a', 3), null, 'a has two');
    const third = begin('b', 2);
    assert.equal(begin('c', 3), null, 'there are three, and work that began is done');
    works[0]!.resolve('done');
    assert.equal(await first, 'done');
    works[1]!.reject(new Error('failed'));
    await assert.rejects(second!, /failed/);
    const again = begin('a', 3);
    works[2]!.resolve('b');
    works[3]!.resolve('again');
    assert.deepEqual(await Promise.all([third, again]), ['b', 'again']);
    assert.equal(places.of('a'), 0);
  });

  it('are left once, however often leave is called', () => {
    const places = createPlaces({ all: 2 });
    const first = places.enter('a')!;
    places.enter('a');
    first.leave();
    first.leave();
    first.rename('b');
    assert.deepEqual([places.of('a'), places.of('b')], [1, 0]);
  });

  it('the heaviest gives way first, and of it the holder with the least progress', () => {
    const places = createPlaces({ all: 6 });
    const { gone, enter } = crowd(places);
    for (const [label, name, since] of [
      ['a1', 'a', 30],
      ['a2', 'a', 10],
      ['a3', 'a', 20],
      ['b1', 'b', 1],
      ['b2', 'b', 2],
      ['c1', 'c', 0],
    ] as const)
      assert.ok(enter(label, name, since));
    assert.ok(enter('d1', 'd', 40));
    assert.ok(enter('d2', 'd', 40), 'a and b have two, d one: the longest without progress');
    assert.deepEqual(gone, ['a2', 'b1']);
    assert.ok(enter('e1', 'e', 50));
    assert.deepEqual(gone, ['a2', 'b1', 'a3']);
  });

  it('who is at work keeps its place, and nobody gives way to who has more', () => {
    const places = createPlaces({ all: 3 });
    const { gone, enter } = crowd(places);
    enter('a1', 'a', null);
    enter('a2', 'a', null);
    const last = enter('b1', 'b', 0)!;
    assert.equal(enter('a3', 'a', 1), null);
    last.holder = null;
    assert.equal(enter('c1', 'c', 1), null);
    assert.deepEqual(gone, []);
  });

  it('of the own name a stalled one gives way', () => {
    const places = createPlaces({ all: 2 });
    const { gone, enter } = crowd(places);
    enter('a1', 'a', 2);
    enter('a2', 'a', 1);
    assert.ok(enter('a3', 'a', 3));
    assert.deepEqual(gone, ['a2']);
  });

  it('equals do not interrupt each other before the patience ends', () => {
    let now = 0;
    const places = createPlaces({ all: 2, patience: { ms: 1000, clock: () => now } });
    const { gone, enter } = crowd(places);
    enter('a1', 'a', 0);
    enter('b1', 'b', 5);
    now = 999;
    assert.equal(enter('c1', 'c', now), null);
    now = 1000;
    assert.ok(enter('c1', 'c', now));
    assert.deepEqual(gone, ['a1']);
    // Two more than the newcomer has: it need not be stalled.
    const few = createPlaces({ all: 2, patience: { ms: 1000, clock: () => now } });
    const other = crowd(few);
    other.enter('a1', 'a', now);
    other.enter('a2', 'a', now);
    assert.ok(other.enter('b1', 'b', now));
    assert.deepEqual(other.gone, ['a1']);
  });

  it('a network counts with the networks around it, and a place counts for its new name when it gets one', () => {
    const places = createPlaces({ all: 5 });
    const { gone, enter } = crowd(places);
    // One /48 with a connection from each of three /56, and a /56 of two.
    for (const part of ['1', '2', '3']) enter(`x${part}`, ['x', `x/${part}`], 10);
    enter('y1', ['y', 'y/1'], 0);
    const second = enter('y2', ['y', 'y/1'], 1)!;
    enter('z1', ['z', 'z/1'], 20);
    assert.deepEqual(gone, ['x1'], 'the larger network, although each part has one');
    second.rename(['x', 'x/2']);
    enter('z2', ['z', 'z/1'], 20);
    assert.deepEqual(gone, ['x1', 'y2'], 'x/2 has two');
  });

  it('however many crowd in, a newcomer has a place while another name has two that are not at work', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(4), fc.nat(9)), { minLength: 8, maxLength: 60 }), (arrivals) => {
        const places = createPlaces({ all: 8 });
        const { enter } = crowd(places);
        for (const [name, since] of arrivals) enter('', `n${name}`, since);
        const sizes = [0, 1, 2, 3, 4].map((name) => places.of(`n${name}`));
        assert.equal(
          sizes.reduce((sum, size) => sum + size),
          8,
        );
        assert.ok(enter('', 'newcomer', 0));
      }),
    );
  });
});
