import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { open } from 'lmdb';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import {
  facts,
  itemsAdded,
  manifestOf,
  proved,
  published,
  versionIdOf,
  withdrawn,
} from '../../test/support/view/datasets/dataset-changes.ts';
import {
  deleted,
  expired,
  NAMESPACE_ID,
  namespaceDeleted,
  namespaceUpserted,
  upserted,
} from '../../test/support/view/view-changes.ts';
import type { SignedManifest } from '../protocol/datasets/manifest.ts';
import { expiredDigest } from './hosted/record-keys.ts';
import { type LmdbViewWriter, type LmdbWriterOptions, openLmdbWriter } from './writer.ts';

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

  /** It wipes when the test says so, and no clock ends a wipe before all has been looked through. */
  function openForWipes(options: Partial<LmdbWriterOptions> = {}): LmdbViewWriter {
    return openLmdbWriter({ path, wipeAfterMs: 0, timers: createManualTimers(), ...options });
  }

  it('overwrites what was erased in the free pages of the file', async () => {
    const writer = openForWipes();
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
    const writer = openForWipes();
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

  it('overwrites on a full disk too: nothing is added to the file', async () => {
    let free = Number.POSITIVE_INFINITY;
    const writer = openForWipes({ free: () => free });
    await writer.apply([upserted('res.ns.v1', 'the secret')], 1);
    await writer.apply([deleted('res.ns.v1')], 2);
    const holds = (): boolean => readFileSync(file, 'latin1').includes('the secret');
    free = 0;
    assert.ok(holds());
    writer.wipe();
    assert.equal(holds(), false);
    await writer.close();
  });

  it('is not put off by further changes, and wipes once for all that came meanwhile', async () => {
    const timers = createManualTimers();
    const writer = openLmdbWriter({ path, wipeAfterMs: 1000, timers });
    const wipes = (): readonly number[] => timers.pending().filter((ms) => ms <= 1000);
    await writer.apply([upserted('res.ns.v1', 'the secret'), upserted('other.ns.v1')], 1);
    await timers.advance(1000);
    assert.deepEqual(wipes(), []);
    await writer.apply([deleted('res.ns.v1')], 2);
    for (let tenth = 1; tenth < 10; tenth++) {
      await timers.advance(100);
      await writer.apply([upserted('other.ns.v1', `change ${tenth}`)], 2 + tenth);
      assert.deepEqual(wipes(), [1000 - 100 * tenth]);
    }
    await timers.advance(100);
    assert.deepEqual(wipes(), []);
    assert.equal(readFileSync(file, 'latin1').includes('the secret'), false);
    await writer.close();
  });

  it('looks through a large view in several wipes, after one erasure', async () => {
    const timers = createManualTimers();
    const writer = openLmdbWriter({ path, wipeAfterMs: 1000, timers });
    // Three fill a page, and a wipe looks through five hundred pages of each kind.
    const count = 6000;
    const payload = (i: number): string => `<${i}>`.repeat(2400 / `<${i}>`.length);
    for (let from = 0; from < count; from += 1000)
      await writer.apply(
        Array.from({ length: 1000 }, (_, i) => upserted(`k${from + i}.res.ns.v1`, payload(from + i))),
        from,
      );
    await writer.apply(
      Array.from({ length: count / 2 }, (_, i) => deleted(`k${2 * i}.res.ns.v1`)),
      count,
    );
    const content = (): string => readFileSync(file, 'latin1');
    const left = (): number => {
      const names = new Set(content().match(/<[0-9]+>/g));
      return Array.from({ length: count / 2 }, (_, i) => `<${2 * i}>`).filter((name) => names.has(name))
        .length;
    };
    const before = left();
    assert.ok(before > 0);
    await timers.advance(1000);
    assert.ok(left() > 0);
    await timers.advance(20_000);
    assert.equal(left(), 0);
    assert.ok(content().includes('<1>') && content().includes(`<${count - 1}>`));
    await writer.close();
  });

  it('counts as lost when it meets a damaged page, and overwrites nothing then', async () => {
    const writer = openForWipes();
    const keys = Array.from({ length: 200 }, (_, i) => `k${i}.res.ns.v1`);
    await writer.apply(
      keys.map((key) => upserted(key, `<${key}>`.repeat(20))),
      1,
    );
    await writer.apply([deleted(keys[1]!)], 2);
    const pages = openSync(file, 'r+');
    // The number of each page but those of the start.
    for (let at = 2; at < statSync(file).size / 8192; at++)
      writeSync(pages, Buffer.of(0xee), 0, 1, at * 8192);
    closeSync(pages);
    assert.equal(writer.isLost(), false);
    writer.wipe();
    assert.equal(writer.isLost(), true);
    assert.ok(readFileSync(file, 'latin1').includes(`<${keys[1]}>`));
    const rebuild = await writer.rebuild();
    await rebuild.load(keys.slice(2).map((key) => upserted(key)));
    await rebuild.finish([], 3, 'epoch');
    assert.equal(writer.isLost(), false);
    await writer.close();
  });

  it('overwrites the items of a withdrawn version, once they are deleted', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 1 });
    const id = versionIdOf(1);
    const items = Array.from({ length: 100 }, (_, i) => ({
      item: `item-${i}-`,
      windows: [facts(null, null)],
    }));
    await writer.apply([itemsAdded(id, ...items), published(id, manifestOf('x', '1.0.0'))], 1);
    const holds = (): boolean => readFileSync(file, 'latin1').includes('item-99-');
    assert.ok(holds());
    await writer.apply([withdrawn(id)], 2);
    while (holds()) await nextTurn();
    await writer.close();
  });

  it('overwrites what is known of records that expired, once it is forgotten', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 1, expiredKeptMs: 1 });
    const keys = Array.from({ length: 40 }, (_, i) => `k${i}.res.ns.v1`);
    await writer.apply([namespaceUpserted('ns'), ...keys.map((key) => upserted(key))], 1);
    await writer.apply(
      keys.map((key) => expired(key, 1_800_000_000_000)),
      2,
    );
    const digests = keys.map((key) => expiredDigest(key, NAMESPACE_ID));
    const left = (): number => {
      const text = readFileSync(file, 'latin1');
      return digests.filter((digest) => text.includes(digest)).length;
    };
    assert.equal(left(), 40);
    while (left() > 0) await nextTurn();
    await writer.close();
  });

  it('takes the longest values of every table for sound', async () => {
    const writer = openForWipes();
    const label = 'l'.repeat(63);
    const text = 't'.repeat(120);
    const window = { from: null, to: null, cc: 'DE', issuer: text, brand: text, type: text };
    const windows = Array.from({ length: 64 }, () => window);
    for (let n = 1; n < 30; n++) {
      const id = versionIdOf(n);
      await writer.apply(
        [
          namespaceUpserted(`${label.slice(0, 60)}${n}`),
          upserted(`${label}.${label}.k${n}.res.ns.v1`, 'x'.repeat(2586)),
          itemsAdded(
            id,
            ...Array.from({ length: 10 }, (_, i) => ({ item: `${label}${i}`.slice(-63), windows })),
          ),
          published(id, { ...manifestOf('x', `1.${n}.0`), description: 'd'.repeat(6000) } as SignedManifest),
          proved(id, `${'p'.repeat(6000)}\n`),
          deleted(`${label}.${label}.k${n - 1}.res.ns.v1`),
        ],
        n,
      );
      writer.wipe();
    }
    assert.equal(writer.isLost(), false);
    await writer.close();
  });

  it('marks a view that was closed in order as written to before it wipes, and wipes nothing after the end', async () => {
    const first = openForWipes();
    await first.apply([upserted('res.ns.v1', 'the secret')], 1);
    await first.apply([deleted('res.ns.v1')], 2);
    await first.close();
    const state = (): string => readFileSync(join(path, 'state'), 'latin1');
    assert.equal(state(), '1 clean');
    const timers = createManualTimers();
    const writer = openLmdbWriter({ path, wipeAfterMs: 1000, timers });
    writer.wipe();
    assert.match(state(), /^1 open /);
    assert.equal(readFileSync(file, 'latin1').includes('the secret'), false);
    await writer.apply([deleted('other.ns.v1'), upserted('res.ns.v1', 'the secret')], 3);
    await writer.apply([deleted('res.ns.v1')], 4);
    const before = readFileSync(file);
    await writer.close();
    await timers.advance(5000);
    writer.wipe();
    assert.deepEqual(readFileSync(file), before);
  });

  it('reaches what a reader could still see that was killed', async () => {
    const writer = openForWipes();
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
    const writer = openForWipes();
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
    const writer = openForWipes();
    const again = open({ path: file, noSubdir: true, keyEncoding: 'binary', encoding: 'binary' });
    assert.equal((again.getStats() as { entryCount: number }).entryCount, entryCount - 1);
    await again.close();
    assert.equal(writer.cursor(), 5);
    await writer.close();
  });
});
