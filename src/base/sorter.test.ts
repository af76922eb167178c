import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createSorter } from './sorter.ts';

describe('sorter', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'sorter-test-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** Entries as hex, in the order that the sorter gives them. */
  function sort(
    entries: readonly (readonly [Uint8Array, Uint8Array])[],
    runBytes: number,
  ): [string, string][] {
    const path = join(directory, 'runs');
    const sorter = createSorter(path, runBytes);
    try {
      for (const [key, value] of entries) sorter.add(key, value);
      assert.equal(existsSync(path), false);
      return Array.from(sorter.entries(), ({ key, value }) => [
        Buffer.from(key).toString('hex'),
        value.toString('hex'),
      ]);
    } finally {
      sorter.close();
    }
  }

  const bytes = (maxLength: number) => fc.uint8Array({ minLength: 1, maxLength });

  it('gives every key once, in the order of bytes, with its last value', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(bytes(3), fc.uint8Array({ maxLength: 20 })), { maxLength: 60 }),
        fc.constantFrom(32, 64, 200, 100_000),
        (entries, runBytes) => {
          const last = new Map<string, string>();
          for (const [key, value] of entries) {
            last.set(Buffer.from(key).toString('hex'), Buffer.from(value).toString('hex'));
          }
          assert.deepEqual(
            sort(entries, runBytes),
            [...last].sort(([a], [b]) => (a < b ? -1 : 1)),
          );
        },
      ),
    );
  });

  it('merges runs larger than one read', () => {
    const entries = Array.from({ length: 3000 }, (_, i) => {
      const key = Buffer.alloc(4);
      key.writeUInt32BE((i * 7919) % 3000);
      return [key, Buffer.alloc(600, i)] as const;
    });
    const sorted = sort(entries, 600_000);
    assert.equal(sorted.length, 3000);
    sorted.forEach(([key, value], i) => {
      assert.equal(Number.parseInt(key, 16), i);
      assert.equal(value.length, 1200);
    });
  });

  it('fails when its file ends early, and gives nothing that was not added', {
    skip: !existsSync('/proc/self/fd'),
  }, () => {
    const sorter = createSorter(join(directory, 'short'), 600_000);
    for (let i = 0; i < 3_000; i++) sorter.add(Buffer.from([i >> 8, i]), Buffer.alloc(600, i));
    const entries = sorter.entries();
    entries.next();
    // The file has no name any more.
    const open = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`);
    const isOurs = (path: string): boolean => {
      const target = lstatSync(path, { throwIfNoEntry: false }) && readlinkSync(path);
      return target?.startsWith(join(directory, 'short')) === true;
    };
    for (const path of open.filter((each) => existsSync(each) && isOurs(each))) truncateSync(path, 100);
    assert.throws(() => Array.from(entries), /ends early/);
    sorter.close();
  });

  it('is empty when nothing was added', () => {
    assert.deepEqual(sort([], 100), []);
  });

  it('accepts an entry that fills a run, and refuses a larger one', () => {
    const key = Uint8Array.of(1);
    assert.equal(sort([[key, new Uint8Array(95)]], 100).length, 1);
    assert.throws(() => sort([[key, new Uint8Array(96)]], 100), RangeError);
  });
});
