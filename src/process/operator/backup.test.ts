import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { recordedFiles } from '../../../test/support/base/files/hooked-files.ts';
import { systemFiles } from '../../base/files.ts';
import { loadSecret } from '../../ops/config/data-dir.ts';
import { openStore } from '../../store/open.ts';
import { backupFault, DATABASE_FILE, makeBackup, restoreInto } from './backup.ts';

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

  it('and its restore: every file is on disk before the manifest that names it, and before the mark of an unfinished restore is removed', async () => {
    const base = mkdtempSync(join(tmpdir(), 'uqrp-backup-'));
    try {
      const config = { dataDir: join(base, 'data'), databaseUrl: null, secret: null };
      const store = await openStore({ ...config, clock: () => 0 });
      await store.close();
      loadSecret(config.dataDir, null);
      const made = recordedFiles(systemFiles);
      const { notes } = makeBackup(config, () => 0, join(base, 'backups', 'tonight'), made.files);
      assert.deepEqual(notes, [], 'nothing is missing in it');
      const replaced = (name: string, folder: string): string[] => [
        `write ${name}.draft`,
        `sync ${name}.draft`,
        `rename ${name}.draft ${name}`,
        `sync ${folder}/`,
      ];
      assert.deepEqual(made.events, [
        'make backups/',
        `sync ${basename(base)}/`,
        'make tonight/',
        'sync backups/',
        'sync uqrp.sqlite',
        'sync tonight/',
        ...replaced('secret', 'tonight'),
        ...replaced('manifest.json', 'tonight'),
      ]);
      const restored = recordedFiles(systemFiles);
      const to = { dataDir: join(base, 'again'), databaseUrl: null };
      restoreInto(join(base, 'backups', 'tonight'), to, () => 0, undefined, restored.files);
      const copied = (name: string): string[] => [`write ${name}`, `sync ${name}`, 'sync again/'];
      assert.deepEqual(restored.events, [
        ...replaced('restore-unfinished', 'again'),
        ...copied('uqrp.sqlite'),
        ...copied('secret'),
        // After the new epoch of the database.
        'sync uqrp.sqlite',
        'sync again/',
        'remove restore-unfinished',
        'sync again/',
      ]);
    } finally {
      rmSync(base, { recursive: true });
    }
  });

  it('says that a secret of the operator is not in it', async () => {
    const base = mkdtempSync(join(tmpdir(), 'uqrp-backup-'));
    try {
      const config = { dataDir: join(base, 'data'), databaseUrl: null, secret: 'x'.repeat(32) };
      const store = await openStore({ ...config, clock: () => 0 });
      await store.close();
      const { notes } = makeBackup(config, () => 0, join(base, 'backup'));
      assert.deepEqual(notes, ['UQRP_SECRET is not in it: keep it with the backup, in a safe place.']);
    } finally {
      rmSync(base, { recursive: true });
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
