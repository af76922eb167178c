import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type DiskOrder, recordDiskOrder } from '../../test/support/base/files/disk-order.ts';
import { installFile } from '../feed/snapshots/shared-files.ts';
import type { Tree } from '../view/lmdb/tree.ts';
import { readState, writeState } from '../view/lmdb/view-directory.ts';
import { openLmdbWriter } from '../view/writer.ts';
import { replaceFile, syncFolder } from './files.ts';

/** Each of these removed alone passed every test of killed processes (finding 2 of the review of tests). */
describe('what must be on disk before the next step', {
  skip: existsSync('/proc/self/fd') ? false : 'needs /proc',
}, () => {
  let folder: string;
  let disk: DiskOrder;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'disk-order-'));
    writeFileSync(join(folder, 'incoming'), 'new');
    disk = await recordDiskOrder(folder);
  });
  afterEach(() => {
    disk.restore();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a replaced file: its content before its name (B05)', async () => {
    await replaceFile(join(folder, 'a.json'), 'new', 0o600);
    assert.deepEqual(disk.events, ['write a.json.draft', 'sync a.json.draft', 'rename a.json.draft a.json']);
    syncFolder(folder);
    assert.equal(disk.events.at(-1), 'sync .');
  });

  it('the state of a view: its content before its name, and then the name (E04)', () => {
    writeState(folder, 3, 'open');
    assert.deepEqual(disk.events, ['write state.new', 'sync state.new', 'rename state.new state', 'sync .']);
  });

  it('a downloaded file: its content before its name, and then the name (F21)', async () => {
    await installFile(join(folder, 'incoming'), join(folder, 'geoip.mmdb'), 0);
    assert.deepEqual(disk.events, ['sync incoming', 'rename incoming geoip.mmdb', 'sync .']);
    assert.equal(readFileSync(join(folder, 'geoip.mmdb'), 'utf8'), 'new');
  });

  for (const [fault, state] of [
    [null, 'clean'],
    [new Error('EIO'), 'open'],
  ] as const) {
    it(`a view at its close: it counts as whole ${fault === null ? 'once its pages are there' : 'never when the disk refused them'} (E06)`, async () => {
      const synced: string[] = [];
      const writer = openLmdbWriter({
        path: join(folder, 'view'),
        syncToDisk: async (_tree: Tree) => {
          synced.push(readFileSync(join(folder, 'view', 'state'), 'latin1').split(' ')[1]!);
          return fault === null;
        },
      });
      await writer.apply([], 0);
      await writer.close();
      assert.deepEqual(synced, ['open']);
      assert.equal(readFileSync(join(folder, 'view', 'state'), 'latin1').split(' ')[1], state);
      assert.equal(readState(join(folder, 'view'))!.generation, 1);
    });
  }
});
