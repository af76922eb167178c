import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createHeldOctets, type HeldOctets } from './held-octets.ts';

/** Holders by label; `gone` names those that gave way, in order. */
function crowd(held: HeldOctets) {
  const gone: string[] = [];
  const holder = (label: string, name: string): ((octets: number) => void) =>
    held.holder(name, () => gone.push(label));
  return { gone, holder };
}

interface Case {
  readonly title: string;
  /** Label, name and octets, in the order in which they come. 100 are held in all. */
  readonly come: readonly (readonly [label: string, name: string, octets: number])[];
  readonly gone: readonly string[];
  readonly total: number;
}

const CASES: readonly Case[] = [
  {
    title: 'nobody gives way while all are held, also to one name alone',
    come: [
      ['a1', 'a', 60],
      ['a2', 'a', 40],
    ],
    gone: [],
    total: 100,
  },
  {
    title: 'the name that holds most gives way, whoever comes last, and of it the largest',
    come: [
      ['a1', 'a', 20],
      ['a2', 'a', 25],
      ['b1', 'b', 40],
      ['c1', 'c', 16],
    ],
    gone: ['a2'],
    total: 76,
  },
  {
    title: 'who comes gives way itself when it holds most',
    come: [
      ['a1', 'a', 50],
      ['b1', 'b', 60],
    ],
    gone: ['b1'],
    total: 50,
  },
  {
    title: 'of equals the oldest gives way',
    come: [
      ['a1', 'a', 30],
      ['a2', 'a', 30],
      ['b1', 'b', 41],
    ],
    gone: ['a1'],
    total: 71,
  },
  {
    title: 'as many give way as it takes, who comes too',
    come: [
      ['a1', 'a', 30],
      ['a2', 'a', 30],
      ['b1', 'b', 40],
      ['c1', 'c', 50],
    ],
    gone: ['a1', 'c1'],
    total: 70,
  },
];

describe('held octets', () => {
  for (const { title, come, gone: expected, total } of CASES)
    it(title, () => {
      const held = createHeldOctets(100);
      const { gone, holder } = crowd(held);
      for (const [label, name, octets] of come) holder(label, name)(octets);
      assert.deepEqual([gone, held.total], [expected, total]);
    });

  it('what was taken leaves room, and what has given way holds nothing again', () => {
    const held = createHeldOctets(100);
    const { gone, holder } = crowd(held);
    const [first, second] = [holder('first', 'a'), holder('second', 'b')];
    first(90);
    first(40);
    second(60);
    assert.deepEqual([gone, held.total], [[], 100]);
    second(61);
    assert.deepEqual([gone, held.total], [['second'], 40]);
    second(10);
    second(0);
    first(0);
    first(0);
    assert.equal(held.total, 0);
    first(100);
    assert.deepEqual([gone, held.total], [['second'], 100]);
  });

  it('one that gives way may release others meanwhile', () => {
    const held = createHeldOctets(100);
    const other = held.holder('b', () => assert.fail('there was room'));
    const first = held.holder('a', () => other(0));
    other(40);
    first(50);
    first(61);
    assert.equal(held.total, 0);
  });

  it('whatever comes and goes: at most all are held, the sum is right, and only one that holds most gives way', () => {
    const step = fc.record({ holder: fc.nat(11), octets: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const held = createHeldOctets(100);
        const has = Array.from({ length: 12 }, () => 0);
        const nameOf = (index: number): number => index % 4;
        const sumOf = (name: number): number =>
          has.reduce((sum, octets, index) => (nameOf(index) === name ? sum + octets : sum), 0);
        const open = (index: number): ((octets: number) => void) =>
          held.holder(String(nameOf(index)), () => {
            const most = Math.max(...[0, 1, 2, 3].map(sumOf));
            assert.equal(sumOf(nameOf(index)), most);
            assert.ok(has.every((octets, of) => nameOf(of) !== nameOf(index) || octets <= has[index]!));
            has[index] = 0;
            holders[index] = open(index);
          });
        const holders = has.map((_, index) => open(index));
        for (const { holder, octets } of steps) {
          has[holder] = octets;
          holders[holder]!(octets);
          assert.ok(held.total <= 100);
          assert.equal(
            held.total,
            has.reduce((sum, one) => sum + one, 0),
          );
        }
      }),
    );
  });
});
