import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { lockDataDir } from './server-lock.ts';

describe('the lock of a data directory', () => {
  let dir: string;
  let lockFile: string;
  let pidFile: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-lock-'));
    lockFile = join(dir, 'serve.lock');
    pidFile = join(dir, 'serve.pid');
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const faultOf = (): string => {
    const lock = lockDataDir(dir);
    if ('release' in lock) lock.release();
    assert.ok('fault' in lock, 'the lock was not refused');
    return lock.fault;
  };

  const take = (): void => {
    const lock = lockDataDir(dir);
    assert.ok('release' in lock);
    lock.release();
  };

  /** The answer of another process that tries to take the lock. */
  const asOtherProcess = (): { readonly pid?: number | null; readonly taken?: true } => {
    const source = `
      import { lockDataDir } from ${JSON.stringify(new URL('./server-lock.ts', import.meta.url).href)};
      const lock = lockDataDir(${JSON.stringify(dir)});
      console.log(JSON.stringify('release' in lock ? { taken: true } : lock));`;
    return JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' }),
    );
  };

  it('is refused to another process, which reads the process id of the holder', () => {
    const lock = lockDataDir(dir);
    assert.ok('release' in lock);
    assert.deepEqual(asOtherProcess(), { pid: process.pid });
    lock.release();
    assert.equal(existsSync(pidFile), false);
    assert.deepEqual(asOtherProcess(), { taken: true });
  });

  it('gives no process id where the file names a dead process or none at all', () => {
    const lock = lockDataDir(dir);
    assert.ok('release' in lock);
    const { pid: dead } = spawnSync(process.execPath, ['-e', '0']);
    for (const text of [`${dead}\n`, 'garbage', '', '-1', '0', '1e400', '9'.repeat(100_000)]) {
      writeFileSync(pidFile, text);
      assert.deepEqual(asOtherProcess(), { pid: null }, text.slice(0, 20));
    }
    lock.release();
  });

  it('is free when a killed server left its files, whatever process has its id now', () => {
    take();
    for (const pid of [spawnSync(process.execPath, ['-e', '0']).pid, process.ppid, 1]) {
      writeFileSync(pidFile, `${pid}\n`);
      take();
    }
  });

  it('follows no link: the file at its end keeps its content', () => {
    const target = join(dir, 'uqrp.sqlite');
    writeFileSync(target, 'precious');
    for (const path of [lockFile, pidFile]) {
      symlinkSync(target, path);
      assert.equal(faultOf(), `${path} is not a regular file. Remove it.`);
      rmSync(path);
    }
    symlinkSync(join(dir, 'nowhere'), lockFile);
    assert.match(faultOf(), /not a regular file/);
    assert.equal(existsSync(join(dir, 'nowhere')), false);
    assert.equal(readFileSync(target, 'utf8'), 'precious');
  });

  it('has no other file beside it: a full disk has no room for a journal (operator finding 4)', () => {
    const lock = lockDataDir(dir);
    assert.ok('release' in lock);
    assert.deepEqual(readdirSync(dir).toSorted(), ['serve.lock', 'serve.pid']);
    lock.release();
  });

  it('says what stands in its place: a directory, a pipe, other content', () => {
    for (const path of [lockFile, pidFile]) {
      mkdirSync(path);
      assert.match(faultOf(), /not a regular file/);
      rmSync(path, { recursive: true });
      execFileSync('mkfifo', [path]);
      assert.match(faultOf(), /not a regular file/);
      rmSync(path);
    }
    const garbage = Buffer.alloc(5000, 0x61);
    writeFileSync(lockFile, garbage);
    assert.match(faultOf(), /has content, and the file of a lock is empty/);
    assert.deepEqual(readFileSync(lockFile), garbage);
    rmSync(lockFile);
    const gone = lockDataDir(join(dir, 'gone'));
    assert.match('fault' in gone ? gone.fault : '', /cannot be opened/);
  });

  it('says what to do on a disk that was mounted read-only after a fault', ({ mock }) => {
    mock.method(DatabaseSync.prototype, 'exec', () => {
      throw Object.assign(new Error('open'), { code: 'EROFS' });
    });
    assert.match(
      faultOf(),
      /serve\.lock cannot be written: the file system is read-only\. .*Mount it for writing/,
    );
  });

  for (const [errcode, said] of [
    [8, /cannot be opened/],
    [8 | (4 << 8), /cannot be opened/],
    [13, /the disk is full/],
    [14, /cannot be opened/],
    [26, /has content/],
  ] as const)
    it(`says what the result code ${errcode} of SQLite means, and releases the file`, ({ mock }) => {
      const failing = mock.method(DatabaseSync.prototype, 'exec', () => {
        throw Object.assign(new Error('of SQLite'), { errcode });
      });
      assert.match(faultOf(), said);
      failing.mock.restore();
      take();
    });
});
