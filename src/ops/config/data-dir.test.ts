import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { StartError } from './config.ts';
import { prepareDataDir, requireDataDir } from './data-dir.ts';

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'uqrp-dir-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o777;

function refuses(path: string, message: RegExp): void {
  for (const check of [prepareDataDir, requireDataDir]) {
    assert.throws(
      () => check(path),
      (error: unknown) => error instanceof StartError && message.test(error.message),
      check.name,
    );
  }
}

describe('the data directory', () => {
  it('is made for its user alone, with every level above it, whatever the umask', () => {
    const before = process.umask(0);
    try {
      const path = join(base, 'a', 'b');
      assert.equal(prepareDataDir(path).narrowed, 0);
      assert.deepEqual([modeOf(join(base, 'a')), modeOf(path)], [0o700, 0o700]);
    } finally {
      process.umask(before);
    }
  });

  it('loses the rights of other users when it exists, and so do its files (security finding 6)', () => {
    const path = join(base, 'data');
    mkdirSync(join(path, 'keys'), { recursive: true });
    for (const name of ['view', 'view-lock', 'uqrp.sqlite', 'keys/uqrp.net.json']) {
      writeFileSync(join(path, name), '');
      chmodSync(join(path, name), 0o644);
    }
    writeFileSync(join(path, 'secret'), '', { mode: 0o600 });
    chmodSync(path, 0o755);
    chmodSync(join(path, 'keys'), 0o755);
    assert.equal(prepareDataDir(path).narrowed, 6);
    assert.deepEqual([modeOf(path), modeOf(join(path, 'keys'))], [0o700, 0o700]);
    for (const name of ['view', 'view-lock', 'uqrp.sqlite', 'keys/uqrp.net.json', 'secret']) {
      assert.equal(modeOf(join(path, name)), 0o600, name);
    }
    assert.equal(prepareDataDir(path).narrowed, 0);
  });

  it('is refused when it is a file, or below one', () => {
    writeFileSync(join(base, 'file'), '');
    refuses(join(base, 'file'), /^UQRP_DATA_DIR .*file is not a directory/);
    assert.throws(() => prepareDataDir(join(base, 'file', 'data')), /^StartError: UQRP_DATA_DIR .*ENOTDIR/);
  });

  it('is refused under /proc, without hanging', () => {
    assert.throws(() => prepareDataDir('/proc/uqrp/data'), /^StartError: UQRP_DATA_DIR \/proc\/uqrp\/data: /);
  });

  it('is refused when it belongs to another user', (t) => {
    if (process.getuid?.() !== 0) return t.skip('needs root, to give a directory away');
    const path = join(base, 'foreign');
    mkdirSync(path);
    chownSync(path, 65_534, 65_534);
    refuses(path, /belongs to user 65534, and this process runs as user 0/);
  });

  it('is not made by a command that works on the data of a server', () => {
    const path = join(base, 'missing');
    assert.throws(() => requireDataDir(path), /^StartError: UQRP_DATA_DIR .*missing does not exist\. Set /);
    assert.equal(statSync(path, { throwIfNoEntry: false }), undefined);
  });
});
