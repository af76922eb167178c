import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Files, type OpenFile, systemFiles } from '../../base/files.ts';
import { createNew, openForReading, PAGE_SIZE } from './tree.ts';

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
