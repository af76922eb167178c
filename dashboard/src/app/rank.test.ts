import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ranked } from './rank.ts';

const PAGES = ['Overview', 'Records', 'Query log', 'API keys', 'Playground'];

function found(query: string): readonly string[] {
  return ranked(PAGES, (page) => page, query);
}

describe('the palette', () => {
  it('shows everything in its order before a letter is typed', () => assert.deepEqual(found(' '), PAGES));

  it('prefers beginnings, then beginnings of words, then any place, then scattered letters', () => {
    assert.deepEqual(found('re'), ['Records', 'Overview']);
    assert.deepEqual(found('log'), ['Query log']);
    assert.deepEqual(found('ver'), ['Overview']);
    assert.deepEqual(found('pgd'), ['Playground']);
    assert.deepEqual(found('k'), ['API keys']);
  });

  it('finds nothing for other letters', () => assert.deepEqual(found('zz'), []));
});
