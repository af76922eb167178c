import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type Bytes, createNew, firstKeySearch, openForReading, type Tree } from './tree.ts';

const octets = (text: string): Bytes => Buffer.from(text, 'latin1');

describe('the first key at or after another', () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-first-key-'));
  const open: Tree[] = [];
  after(async () => {
    for (const tree of open) await tree.close();
    rmSync(dir, { recursive: true });
  });

  /** A tree with these keys, for writing and for reading. */
  function treeOf(name: string, keys: readonly string[]): { writing: Tree; reading: Tree } {
    const path = join(dir, name);
    const writing = createNew(path);
    for (const key of keys) writing.putSync(octets(key), octets('v'));
    const reading = openForReading(path);
    open.push(writing, reading);
    return { writing, reading };
  }

  const firstKey = firstKeySearch();
  const find = (tree: Tree, start: string): string | null => {
    const found = firstKey(tree, octets(start));
    return found === null ? null : Buffer.from(found).toString('latin1');
  };

  test('is that of a search of its own, for each of many starts', () => {
    const keys = Array.from({ length: 300 }, (_, i) => `k${String(i * 7).padStart(4, '0')}`);
    const { reading } = treeOf('many', keys);
    for (let i = 0; i < 2200; i += 3) {
      const start = `k${String(i).padStart(4, '0')}`;
      const expected = keys.find((key) => key >= start) ?? null;
      assert.equal(find(reading, start), expected, start);
    }
  });

  test('is seen after a commit, when the snapshot was renewed', () => {
    const { writing, reading } = treeOf('commits', ['b', 'd']);
    assert.equal(find(reading, 'c'), 'd');
    writing.putSync(octets('ca'), octets('v'));
    reading.resetReadTxn();
    assert.equal(find(reading, 'c'), 'ca');
    writing.removeSync(octets('ca'));
    writing.removeSync(octets('d'));
    reading.resetReadTxn();
    assert.equal(find(reading, 'c'), null);
  });

  test('is of the tree that is asked, also right after another', () => {
    const one = treeOf('one', ['b']).reading;
    const other = treeOf('other', ['c']).reading;
    for (let i = 0; i < 3; i++) {
      assert.equal(find(one, 'a'), 'b');
      assert.equal(find(other, 'a'), 'c');
    }
  });

  test('is a copy, which the next search leaves alone', () => {
    const { reading } = treeOf('copies', ['b', 'd']);
    const first = firstKey(reading, octets('a'))!;
    firstKey(reading, octets('c'));
    assert.deepEqual(Buffer.from(first), octets('b'));
  });
});
