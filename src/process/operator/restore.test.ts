import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isSuccessor } from '../../base/ids.ts';
import { prepareDataDir, requireDataDir, UNFINISHED_RESTORE } from '../../ops/config/data-dir.ts';
import { openStore } from '../../store/open.ts';
import { takeServerLock } from '../start-checks.ts';
import { DATABASE_FILE, describeFile, MANIFEST_FILE, newManifest, restoreInto } from './backup.ts';

const VICTIM = fileURLToPath(
  new URL('../../../test/support/process/operator/restore-victim.ts', import.meta.url),
);

function epochOf(file: string): string {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return String(db.prepare("select value from service_facts where name = 'epoch'").get()?.value);
  } finally {
    db.close();
  }
}

describe('restore', () => {
  let base: string;
  let backup: string;
  let database: Buffer;
  const paths = ['keys/uqrp.net.json', 'secret', DATABASE_FILE];

  /** A backup of these files, in the order of `paths`. */
  function makeBackup(name: string, contents: Readonly<Record<string, Buffer>>): string {
    const folder = join(base, name);
    for (const [path, content] of Object.entries(contents)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const files = paths.map((path) => describeFile(path, join(folder, path)));
    const manifest = newManifest({ made_at: 'now', version: '0', engine: 'sqlite', migrations: [], files });
    writeFileSync(join(folder, MANIFEST_FILE), JSON.stringify(manifest));
    return folder;
  }

  before(async () => {
    base = mkdtempSync(join(tmpdir(), 'uqrp-restore-'));
    const made = join(base, 'made');
    const store = await openStore({ dataDir: made, databaseUrl: null, clock: Date.now });
    await store.close();
    database = readFileSync(join(made, DATABASE_FILE));
    backup = makeBackup('backup', {
      secret: Buffer.from('secret'),
      'keys/uqrp.net.json': Buffer.from('{}'),
      [DATABASE_FILE]: database,
    });
  });
  after(() => rmSync(base, { recursive: true, force: true }));

  it('compares each file again once it is copied: the backup may change meanwhile (L01)', () => {
    for (const [index, path] of paths.entries()) {
      const folder = makeBackup(`changing-${index}`, {
        secret: Buffer.from('secret'),
        'keys/uqrp.net.json': Buffer.from('{}'),
        [DATABASE_FILE]: database,
      });
      const dataDir = join(base, `changed-${index}`);
      const change = (files: number): void => {
        if (files === 0) writeFileSync(join(folder, path), 'another');
      };
      assert.throws(
        () => restoreInto(folder, { dataDir, databaseUrl: null }, Date.now, change),
        /is not what the manifest says: nothing was restored/,
        path,
      );
      assert.equal(existsSync(join(dataDir, path)), false);
      assert.equal(existsSync(join(dataDir, UNFINISHED_RESTORE)), false);
    }
  });

  it('describes a file in chunks as it describes the whole, so that a database may be larger than memory', () => {
    const file = join(base, 'chunks');
    writeFileSync(file, database);
    const sha256 = createHash('sha256').update(database).digest('hex');
    for (const chunk of [1, 7, 4096, database.length, database.length + 1]) {
      // A chunk of one octet is tried on the head of the file alone, for time.
      if (chunk === 1) writeFileSync(file, database.subarray(0, 1000));
      else writeFileSync(file, database);
      const { octets, sha256: found } = describeFile('x', file, chunk);
      if (chunk === 1) assert.equal(octets, 1000);
      else assert.deepEqual([octets, found], [database.length, sha256], String(chunk));
    }
  });

  function isWhole(dataDir: string): void {
    assert.equal(existsSync(join(dataDir, UNFINISHED_RESTORE)), false);
    for (const path of paths.filter((one) => one !== DATABASE_FILE)) {
      assert.deepEqual(readFileSync(join(dataDir, path)), readFileSync(join(backup, path)), path);
    }
    assert.equal(existsSync(join(dataDir, `${DATABASE_FILE}-wal`)), false);
    // Else a place in the lost part of the log would be one in what is written after the restore.
    assert.ok(isSuccessor(epochOf(join(dataDir, DATABASE_FILE)), epochOf(join(backup, DATABASE_FILE))));
    requireDataDir(dataDir);
    prepareDataDir(dataDir);
  }

  for (const files of [0, 1, 2, 3]) {
    it(`that is killed after ${files} files leaves nothing that a start accepts, and can be repeated`, () => {
      const dataDir = join(base, `killed ${files}`);
      const { signal } = spawnSync(process.execPath, [VICTIM, backup, dataDir, String(files)]);
      assert.equal(signal, 'SIGKILL');
      assert.equal(paths.filter((path) => existsSync(join(dataDir, path))).length, files);
      for (const check of [prepareDataDir, requireDataDir]) {
        assert.throws(() => check(dataDir), /a restore into it did not finish/, check.name);
      }
      restoreInto(backup, { dataDir, databaseUrl: null }, Date.now);
      isWhole(dataDir);
    });
  }

  it('that fails at the last file leaves nothing in place', () => {
    const dataDir = join(base, 'failed');
    const broken = makeBackup('broken', {
      secret: Buffer.from('secret'),
      'keys/uqrp.net.json': Buffer.from('{}'),
      // Its checksum is that of the manifest, and still it is no whole database.
      [DATABASE_FILE]: database.subarray(0, 8192),
    });
    assert.throws(() => restoreInto(broken, { dataDir, databaseUrl: null }, Date.now));
    assert.deepEqual(readdirSync(dataDir), ['serve.lock']);
    restoreInto(backup, { dataDir, databaseUrl: null }, Date.now);
    isWhole(dataDir);
  });

  it('with a damaged last file writes nothing at all', () => {
    const dataDir = join(base, 'never');
    const damaged = makeBackup('damaged', {
      secret: Buffer.from('secret'),
      'keys/uqrp.net.json': Buffer.from('{}'),
      [DATABASE_FILE]: database,
    });
    writeFileSync(join(damaged, DATABASE_FILE), 'other');
    assert.throws(
      () => restoreInto(damaged, { dataDir, databaseUrl: null }, Date.now),
      /nothing was restored/,
    );
    assert.equal(existsSync(dataDir), false);
  });

  it('takes no directory in which another restore runs', () => {
    const dataDir = join(base, 'twice');
    restoreInto(backup, { dataDir, databaseUrl: null }, Date.now, (files) => {
      if (files !== 1) return;
      const { stderr } = spawnSync(process.execPath, [VICTIM, backup, dataDir, '9'], { encoding: 'utf8' });
      assert.match(stderr, new RegExp(`is in use by process ${process.pid},`));
    });
    isWhole(dataDir);
    assert.throws(() => restoreInto(backup, { dataDir, databaseUrl: null }, Date.now), /is not empty/);
    takeServerLock(dataDir).release();
    assert.ok(readdirSync(dataDir).includes('serve.lock'));
  });
});
