import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { nextTurn } from './timers.ts';
import { createTurns } from './turns.ts';

/** Works that end when they are told to, and the names of those that have begun. */
function openWorks(atOnce: number, waiting: number) {
  const turns = createTurns({ atOnce, waiting, random: randomBytes });
  const begun: string[] = [];
  const ends = new Map<string, (fail?: boolean) => void>();
  return {
    begun,
    start: (name: string, asker: string, about?: string) =>
      turns.run(
        asker,
        () => {
          begun.push(name);
          return new Promise<string>((resolve, reject) => {
            ends.set(name, (fail) => (fail ? reject(new Error(name)) : resolve(name)));
          });
        },
        about,
      ),
    end: async (name: string, fail?: boolean): Promise<void> => {
      ends.get(name)!(fail);
      await nextTurn();
    },
  };
}

describe('turns', () => {
  it('begin so many works at once, and the next when one has ended or failed', async () => {
    const { begun, start, end } = openWorks(2, 10);
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => start(name, 'x'));
    await nextTurn();
    assert.deepEqual(begun, ['a', 'b']);
    await Promise.all([assert.rejects(a!, /^Error: a$/), end('a', true)]);
    assert.deepEqual(begun, ['a', 'b', 'c']);
    for (const name of ['b', 'c', 'd']) await end(name);
    assert.deepEqual(await Promise.all([b, c, d]), ['b', 'c', 'd']);
    void start('e', 'x');
    await nextTurn();
    assert.equal(begun.at(-1), 'e', 'places are free again');
  });

  it('of an asker with one work come before the second of an asker with many', async () => {
    const { begun, start, end } = openWorks(1, 100);
    for (let i = 0; i < 50; i++) void start(`many${i}`, 'many');
    void start('one', 'one');
    await nextTurn();
    for (let i = 0; i < 3; i++) await end(begun.at(-1)!);
    assert.ok(begun.includes('one'), begun.join());
  });

  it('of a thing that one asks about come before the second of a thing that many ask about', async () => {
    const { begun, start, end } = openWorks(1, 100);
    for (let i = 0; i < 50; i++) void start(`many${i}`, `asker${i}`, 'much');
    void start('one', 'asker50', 'little');
    await nextTurn();
    for (let i = 0; i < 3; i++) await end(begun.at(-1)!);
    assert.ok(begun.includes('one'), begun.join());
  });

  it('are given up by who has most waiting, and not taken beyond the bound', async () => {
    const { start, end } = openWorks(1, 4);
    const many = Array.from({ length: 5 }, (_, i) => start(`many${i}`, 'many'));
    assert.equal(await start('many5', 'many'), null, 'an equal does not displace');
    const one = start('one', 'one');
    assert.equal(await many[4], null, 'the newest of who has most');
    await nextTurn();
    await end('many0');
    for (const name of ['many1', 'one', 'many2', 'many3']) await end(name).catch(() => nextTurn());
    for (const name of ['many1', 'many2', 'many3', 'one']) await end(name).catch(() => {});
    assert.equal(await one, 'one');
  });
});
