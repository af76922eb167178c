import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { AppError } from '../base/errors.ts';
import { StartError } from '../ops/config/config.ts';
import { withStore } from './context.ts';

/** A data directory that commands of this process work on. */
function dataDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-context-'));
  const before = process.env.UQRP_DATA_DIR;
  process.env.UQRP_DATA_DIR = dir;
  t.after(() => {
    if (before === undefined) delete process.env.UQRP_DATA_DIR;
    else process.env.UQRP_DATA_DIR = before;
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

it('a command that meets a full disk names the file and what to do (operator finding 18)', async (t) => {
  const dir = dataDir(t);
  const full = Object.assign(new Error('database or disk is full'), { errcode: 13 });
  await assert.rejects(
    withStore(Date.now, () => Promise.reject(full), { mayCreate: true }),
    (error) => {
      assert.ok(error instanceof StartError);
      const file = join(dir, 'uqrp.sqlite');
      assert.equal(error.message, `The database ${file} cannot be written: the disk is full. Make room.`);
      return true;
    },
  );
});

it('a command passes other faults on as they are', async (t) => {
  dataDir(t);
  const fault = new AppError('not_found', 'there is no such user');
  await assert.rejects(
    withStore(Date.now, () => Promise.reject(fault), { mayCreate: true }),
    (error) => error === fault,
  );
});
