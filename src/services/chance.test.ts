import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { answerFields, askName, NOW } from '../../test/support/services/check-service.ts';
import { draw } from './answers.ts';
import { makeCoin } from './coin.ts';
import { makeDice } from './dice.ts';
import { makeRandom } from './random.ts';
import type { Service } from './service.ts';
import { makeUuid } from './uuid.ts';

const [dice, coin, random, uuid] = [makeDice(), makeCoin(), makeRandom(), makeUuid()];

async function fields(service: Service, ...params: string[]): Promise<Record<string, unknown>> {
  return answerFields(await service.answer(params, NOW), service.about);
}

async function assertMalformed(service: Service, rows: readonly (readonly string[])[]): Promise<void> {
  for (const params of rows) {
    assert.equal((await service.answer(params, NOW)).kind, 'malformed', params.join('.'));
  }
}

describe('draw', () => {
  it('reaches both ends, and nothing else', () => {
    const seen = new Set(Array.from({ length: 400 }, () => draw(-1, 2)));
    assert.deepEqual(
      [...seen].sort((a, b) => a - b),
      [-1, 0, 1, 2],
    );
    assert.equal(draw(7, 7), 7);
  });

  it('has no bias: chi-square of 1 to 100 in 100,000 draws', () => {
    const counts = new Array<number>(100).fill(0);
    for (let i = 0; i < 100_000; i++) counts[draw(1, 100) - 1]!++;
    const chi = counts.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
    // 99 degrees of freedom: a fair draw is outside these once in 10^9 runs.
    assert.ok(chi > 35 && chi < 210, String(chi));
  });
});

describe('dice', () => {
  it('has rolls of its sides, and their sum', async () => {
    for (const [label, text, count, sides, plus] of [
      ['2d6p1', '2d6+1', 2, 6, 1],
      ['d20', '1d20', 1, 20, 0],
      ['4d6n2', '4d6-2', 4, 6, -2],
      ['4d6-2', '4d6-2', 4, 6, -2],
      ['4d6+2', '4d6+2', 4, 6, 2],
      ['1d2p0', '1d2', 1, 2, 0],
      ['D6N0', '1d6', 1, 6, 0],
      ['100d1000p1000', '100d1000+1000', 100, 1000, 1000],
      ['1d2n1000', '1d2-1000', 1, 2, -1000],
    ] as const) {
      const found = await fields(dice, label);
      const rolls = String(found.rolls).split(' ').map(Number);
      assert.deepEqual([found.dice, rolls.length], [text, count]);
      assert.ok(rolls.every((roll) => roll >= 1 && roll <= sides));
      assert.equal(
        found.sum,
        rolls.reduce((sum, roll) => sum + roll, plus),
      );
    }
  });

  it('rejects other formulas', async () => {
    await assertMalformed(dice, [
      ...[
        [],
        [''],
        ['6'],
        ['d'],
        ['2d'],
        ['0d6'],
        ['d1'],
        ['d0'],
        ['101d6'],
        ['d1001'],
        ['d6p'],
        ['d6p1001'],
      ],
      ...[
        ['02d6'],
        ['d06'],
        ['d6p01'],
        ['2d6p1p1'],
        ['n2d6'],
        ['2d6x1'],
        ['2d6', '2d6'],
        ['1e2d6'],
        ['2d6p1d4'],
      ],
    ]);
  });
});

describe('coin', () => {
  it('has as many flips as asked for', async () => {
    for (const count of [1, 10, 100]) {
      const found = await fields(coin, String(count));
      const flips = String(found.flips).split(' ');
      assert.equal(flips.length, count);
      assert.equal(flips.filter((side) => side === 'heads').length, found.heads);
      assert.equal(Number(found.heads) + Number(found.tails), count);
    }
    assert.match(String((await fields(coin)).flips), /^(heads|tails)$/);
  });

  it('rejects other counts', async () => {
    await assertMalformed(coin, [[''], ['0'], ['101'], ['n1'], ['01'], ['1d5'], ['heads'], ['1', '1']]);
  });
});

describe('random', () => {
  it('lies between its bounds', async () => {
    const bound = fc.integer({ min: -999_999_999_999, max: 999_999_999_999 });
    const label = (value: number): string => (value < 0 ? `n${-value}` : String(value));
    await fc.assert(
      fc.asyncProperty(bound, bound, async (a, b) => {
        const [min, max] = a < b ? [a, b] : [b, a];
        const found = await fields(random, `${label(min)}-to-${label(max)}`);
        assert.deepEqual([found.min, found.max], [min, max]);
        assert.ok(Number(found.val) >= min && Number(found.val) <= max);
        if (min < max) await assertMalformed(random, [[`${label(max)}-to-${label(min)}`]]);
      }),
      { numRuns: 200 },
    );
    assert.equal((await fields(random, 'n999999999999-to-999999999999')).min, -999_999_999_999);
    assert.equal((await fields(random, '-5-to--5')).val, -5);
    assert.equal((await fields(random, 'n0-TO-0')).val, 0);
  });

  it('rejects other ranges', async () => {
    await assertMalformed(random, [
      ...[[], [''], ['5'], ['1-5'], ['1-to-'], ['-to-5'], ['5-to-1'], ['1-to-1000000000000'], ['1d5-to-2']],
      ...[
        ['01-to-2'],
        ['1-to-02'],
        ['1-to-2-to-3'],
        ['a-to-z'],
        ['1-to-2', '1-to-2'],
        ['nn1-to-2'],
        ['1e2-to-1e3'],
      ],
    ]);
  });
});

describe('uuid', () => {
  it('is of version 4 or 7', async () => {
    assert.equal((await fields(uuid)).ver, 4);
    assert.equal((await fields(uuid, 'V4')).ver, 4);
    const { uuid: text, ver } = await fields(uuid, 'v7');
    assert.equal(ver, 7);
    assert.match(String(text), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(Number.parseInt(String(text).replace('-', '').slice(0, 12), 16), NOW);
  });

  it('of version 7 is sorted by its time', async () => {
    const at = async (now: number): Promise<string> =>
      String(answerFields(await uuid.answer(['v7'], now), uuid.about).uuid);
    const times = [0, 1, 255, 256, NOW - 1, NOW, NOW + 1, 2 ** 48 - 1];
    const made = await Promise.all(times.map(at));
    assert.deepEqual([...made].sort(), made);
  });

  it('rejects other versions', async () => {
    await assertMalformed(uuid, [[''], ['v1'], ['4'], ['v8'], ['v4', 'v4'], ['7']]);
  });
});

describe('answers of chance', () => {
  it('have TTL 0, are kept by no cache, and differ', async () => {
    for (const [service, name] of [
      [dice, 'get.100d1000.dice.public.v1'],
      [coin, 'get.100.coin.public.v1'],
      [random, 'get.n999999999999-to-999999999999.random.public.v1'],
      [uuid, 'get.uuid.public.v1'],
      [uuid, 'get.v7.uuid.public.v1'],
    ] as const) {
      const outcomes = await Promise.all([1, 2, 3, 4].map(() => askName(service, name)));
      const texts = outcomes.map((outcome) => {
        assert.ok(outcome.kind === 'answer');
        assert.deepEqual([outcome.ttl, outcome.until], [0, 0], name);
        return Buffer.from(outcome.text).toString();
      });
      assert.equal(new Set(texts).size, texts.length, name);
    }
  });
});
