import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { type Files, type OpenFile, systemFiles } from '../../base/files.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { openLmdbReaderOnceWhole } from '../reader.ts';
import { openLmdbWriter } from '../writer.ts';
import { createNew, openExisting, openForReading, PAGE_SIZE, type Tree } from './tree.ts';

/** Calls `between` after each call of a file that was opened. */
function interrupted(between: () => void): Files {
  const after = <T>(result: T): T => {
    between();
    return result;
  };
  return {
    ...systemFiles,
    open(path, how, mode): OpenFile {
      const file = systemFiles.open(path, how, mode);
      return {
        ...file,
        size: () => after(file.size()),
        read: (into, at) => after(file.read(into, at)),
        close: () => file.close(),
      };
    },
  };
}

test('a view that grows while a reader opens it is whole', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-view-'));
  const path = join(dir, '1.mdb');
  const writer = createNew(path);
  let key = 0;
  const grow = (): void => {
    const before = writer.getStats().lastPageNumber;
    while (writer.getStats().lastPageNumber === before)
      writer.transactionSync(() => {
        writer.putSync(Buffer.from(`k${key++}`), Buffer.alloc(PAGE_SIZE / 4));
      });
  };
  try {
    const reader = openForReading(path, interrupted(grow));
    assert.ok(key > 0, 'the file grew meanwhile');
    await reader.close();
  } finally {
    await writer.close();
    rmSync(dir, { recursive: true, force: true });
  }
});

/** Takes pages at the end of the file and frees them before they are written. */
function putAndRemove(tree: Tree, pages: number): void {
  const key = Buffer.from('k');
  tree.transactionSync(() => {
    tree.putSync(key, Buffer.alloc(pages * PAGE_SIZE));
    tree.removeSync(key);
  });
}

test('a view whose last pages were freed before they were written is whole, for readers and at a start', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-view-'));
  const path = join(dir, '1.mdb');
  const writer = createNew(path);
  try {
    for (let pages = 4; pages <= 64; pages *= 2) {
      putAndRemove(writer, pages);
      const named = (writer.getStats().lastPageNumber + 1) * PAGE_SIZE;
      assert.ok(statSync(path).size >= named, `${pages} pages`);
      await openForReading(path).close();
    }
    await writer.close();
    const again = openExisting(path);
    assert.ok(typeof again === 'object', `${again as string}`);
    await again.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a thread that starts between a commit and the end of its file waits for it, and for no file that is missing', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-view-'));
  try {
    await openLmdbWriter({ path: dir }).close();
    const [file] = readdirSync(dir).filter((name) => name.endsWith('.mdb'));
    const path = join(dir, file!);
    const writer = openExisting(path);
    assert.ok(typeof writer === 'object');
    putAndRemove(writer, 16);
    await writer.close();
    const { size } = statSync(path);
    truncateSync(path, size - PAGE_SIZE);
    const mend = `setTimeout(() => require('node:fs').truncateSync(${JSON.stringify(path)}, ${size}), 50)`;
    const writing = new Worker(mend, { eval: true });
    const ended = once(writing, 'exit');
    await once(writing, 'online');
    const reader = await openLmdbReaderOnceWhole({ path: dir }, realTimers);
    await reader.close();
    await ended;
    rmSync(path);
    await assert.rejects(openLmdbReaderOnceWhole({ path: dir }, realTimers), /is not there/);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
