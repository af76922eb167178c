import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createSimulatedDisk } from '../../test/support/base/files/simulated-files.ts';
import { makeFolderSync } from '../base/files.ts';
import { readState, writeState } from './lmdb/view-directory.ts';
import { openLmdbWriter } from './writer.ts';

describe('the state of a view', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'closed-view-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  for (const [isOnDisk, state] of [
    [true, 'clean'],
    [false, 'open'],
  ] as const) {
    it(`at its close it counts as whole ${isOnDisk ? 'once its pages are there' : 'never when the disk refused them'}`, async () => {
      const path = join(folder, 'view');
      const marker = (): string => readFileSync(join(path, 'state'), 'latin1').split(' ')[1]!;
      const seen: string[] = [];
      const writer = openLmdbWriter({
        path,
        async syncToDisk() {
          seen.push(marker());
          return isOnDisk;
        },
      });
      await writer.apply([], 0);
      await writer.close();
      assert.deepEqual([seen, marker(), readState(path)!.generation], [['open'], state, 1]);
    });
  }

  it('another view does not serve when the disk refuses its pages', async () => {
    const path = join(folder, 'view');
    const writer = openLmdbWriter({ path, syncToDisk: async () => false });
    const rebuild = await writer.rebuild();
    await assert.rejects(rebuild.finish([], 1, 'epoch'), /could not be brought to the disk/);
    assert.deepEqual([writer.cursor(), readState(path)!.generation], [null, 1]);
    await writer.close();
  });

  it('a view that was open when the power was lost is not trusted; one that was closed is', () => {
    const disk = createSimulatedDisk({ random: () => 0, now: () => 0 });
    const files = disk.files();
    makeFolderSync('/view', 0o700, files);
    writeState('/view', 3, 'open', files);
    assert.deepEqual(readState('/view', files), { generation: 3, isTrusted: true, isOpen: true });
    disk.powerLoss();
    assert.deepEqual(readState('/view', files), { generation: 3, isTrusted: false, isOpen: false });
    writeState('/view', 4, 'clean', files);
    disk.powerLoss();
    assert.deepEqual(readState('/view', files), { generation: 4, isTrusted: true, isOpen: false });
  });
});
