import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { backupFault, DATABASE_FILE } from './backup.ts';

const CLI = fileURLToPath(new URL('../../cli.ts', import.meta.url));

describe('backup', () => {
  it('that fails leaves no folder: a timer would fill the disk with them', () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-backup-'));
    const target = join(dataDir, 'backups', 'tonight');
    try {
      writeFileSync(join(dataDir, DATABASE_FILE), 'no database');
      const { status, stderr } = spawnSync(process.execPath, [CLI, 'backup', target], {
        env: { ...process.env, UQRP_DATA_DIR: dataDir },
        encoding: 'utf8',
      });
      assert.equal(status, 1, stderr);
      assert.match(stderr, /not a database/);
      assert.equal(existsSync(target), false);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('says of a full disk which folder has no room, and what to do', () => {
    for (const fault of [{ code: 'ENOSPC' }, { code: 'ERR_SQLITE_ERROR', errcode: 13 }]) {
      const told = backupFault(Object.assign(new Error('full'), fault), '/backups/tonight');
      assert.match((told as Error).message, /^\/backups\/tonight: the disk is full\. Make room/);
    }
    const other = new Error('other');
    assert.equal(backupFault(other, '/backups/tonight'), other);
  });
});
