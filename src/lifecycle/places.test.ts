import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPlaces } from './places.ts';

describe('places', () => {
  it('are so many for each name and so many in all, and are free again after success and failure', async () => {
    const places = createPlaces({ all: 3, each: 2 });
    const works = Array.from({ length: 4 }, () => Promise.withResolvers<string>());
    const begin = (name: string, work: number) => places.run(name, () => works[work]!.promise);
    const [first, second] = [begin('a', 0), begin('a', 1)];
    assert.equal(begin('a', 3), null, 'a has two');
    const third = begin('b', 2);
    assert.equal(begin('c', 3), null, 'there are three');
    works[0]!.resolve('done');
    assert.equal(await first, 'done');
    works[1]!.reject(new Error('failed'));
    await assert.rejects(second!, /failed/);
    const again = begin('a', 3);
    works[2]!.resolve('b');
    works[3]!.resolve('again');
    assert.deepEqual(await Promise.all([third, again]), ['b', 'again']);
  });
});
