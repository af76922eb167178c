import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { open } from 'lmdb';
import { deleted, namespaceDeleted, upserted } from '../../test/support/view/view-changes.ts';
import { openLmdbWriter } from './writer.ts';

const VICTIM = fileURLToPath(new URL('../../test/support/view/reading-victim.ts', import.meta.url));

describe('LMDB view and erasure', () => {
  let directory: string;
  /** Directory of the view, and the file in it that serves before the first rebuild. */
  let path: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'wipe-test-'));
    path = join(directory, 'view');
    file = join(path, '1.mdb');
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('overwrites what was erased in the free pages of the file', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    const secret = (i: number): string => `secret-${i}-`.repeat(20);
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}.res.ns.v1`);
    await writer.apply(
      keys.map((key, i) => upserted(key, secret(i))),
      1,
    );
    await writer.apply(
      [deleted('k7.res.ns.v1'), deleted('k19.res.ns.v1'), upserted('k8.res.ns.v1', 'short')],
      2,
    );
    const holds = (text: string): boolean => readFileSync(file, 'latin1').includes(text);
    assert.ok(holds('-secret-7-'));
    writer.wipe();
    for (const i of [7, 8, 19]) assert.equal(holds(`-secret-${i}-`), false, `${i}`);
    assert.ok(holds('-secret-9-'));
    await writer.apply([namespaceDeleted('ns')], 3);
    writer.wipe();
    assert.equal(holds('secret-'), false);
    assert.equal(writer.cursor(), 3);
    await writer.close();
  });

  it('leaves nothing of a replaced value in the pages that are in use (E08)', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    // So many that a wipe copies few of their pages.
    const names = Array.from({ length: 400 }, (_, i) => `k${String(i).padStart(3, '0')}.res.ns.v1`);
    const secret = (key: string): string => `secret-of-${key}-`;
    await writer.apply(
      names.map((key) => upserted(key, secret(key).repeat(12))),
      1,
    );
    // In one transaction, since the next one copies a page without its unused part. The last first: its value borders on that part.
    await writer.apply(
      names.toReversed().map((key) => upserted(key, 'x')),
      2,
    );
    writer.wipe();
    const content = readFileSync(file, 'latin1');
    assert.deepEqual(
      names.filter((key) => content.includes(secret(key))),
      [],
    );
    await writer.close();
  });

  it('wipes by itself some time after an erasure', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 1 });
    await writer.apply([upserted('res.ns.v1', 'the secret')], 1);
    await writer.apply([deleted('res.ns.v1')], 2);
    while (readFileSync(file, 'latin1').includes('the secret')) await nextTurn();
    await writer.close();
  });

  it('tries again what a full disk prevented, although nothing more is erased', async () => {
    let free = Number.POSITIVE_INFINITY;
    const writer = openLmdbWriter({ path, wipeAfterMs: 0, free: () => free });
    await writer.apply([upserted('res.ns.v1', 'the secret')], 1);
    await writer.apply([deleted('res.ns.v1')], 2);
    const holds = (): boolean => readFileSync(file, 'latin1').includes('the secret');
    free = 0;
    writer.wipe();
    assert.ok(holds());
    free = Number.POSITIVE_INFINITY;
    writer.wipe();
    assert.equal(holds(), false);
    await writer.close();
  });

  it('reaches what a reader could still see that was killed', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    await writer.apply([upserted('res.ns.v1', 'the secret')], 1);
    const victim = spawn(process.execPath, [VICTIM, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(victim.stdout, 'data');
    await writer.apply([deleted('res.ns.v1')], 2);
    writer.wipe();
    const holds = (): boolean => readFileSync(file, 'latin1').includes('the secret');
    assert.ok(holds(), 'the reader keeps it');
    victim.kill('SIGKILL');
    await once(victim, 'exit');
    await writer.apply([deleted('other.ns.v1'), upserted('x.ns.v1'), deleted('x.ns.v1')], 3);
    writer.wipe();
    assert.equal(holds(), false);
    await writer.close();
  });

  it('does not grow when it wipes', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    const sizes: number[] = [];
    for (let i = 0; i < 60; i++) {
      await writer.apply([upserted('res.ns.v1', `payload ${i}`), deleted('res.ns.v1')], i);
      writer.wipe();
      sizes.push(readFileSync(file).length);
    }
    assert.equal(sizes.at(-1), sizes[20]);
    await writer.close();
  });

  it('removes at start the filling of an interrupted wipe', async () => {
    const first = openLmdbWriter({ path });
    await first.apply([upserted('res.ns.v1')], 5);
    await first.close();
    const tree = open<Uint8Array, Uint8Array>({
      path: file,
      noSubdir: true,
      keyEncoding: 'binary',
      encoding: 'binary',
    });
    await tree.put(Uint8Array.of(0xff, 0, 0, 0, 0), Buffer.alloc(3900));
    const { entryCount } = tree.getStats() as { entryCount: number };
    await tree.close();
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    const again = open({ path: file, noSubdir: true, keyEncoding: 'binary', encoding: 'binary' });
    assert.equal((again.getStats() as { entryCount: number }).entryCount, entryCount - 1);
    await again.close();
    assert.equal(writer.cursor(), 5);
    await writer.close();
  });
});
