import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { open } from 'lmdb';
import type { ChangeBody } from '../../core/change.ts';
import { openLmdbReader, openLmdbWriter } from './lmdb-view.ts';
import { createStamps } from './stamps.ts';
import { deleted, minted, namespaceDeleted, namespaceUpserted, upserted } from './testing/view-changes.ts';
import { describeView, type ViewFixture } from './testing/view-suite.ts';

function fixture(directory: string): ViewFixture {
  const path = join(directory, 'view');
  // A small memory for sorting, so that rebuilds of the suite take the way over the temporary file.
  const writer = openLmdbWriter({ path, wipeAfterMs: 0, sortBytes: 65_536 });
  const reader = openLmdbReader({ path });
  const close = async (): Promise<void> => {
    await reader.close();
    await writer.close();
  };
  return {
    writer,
    reader,
    async reopen() {
      await close();
      return fixture(directory);
    },
    async dispose() {
      await close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'view-test-'));

describeView('LMDB view', async () => fixture(newDirectory()));

describe('LMDB view and its file', () => {
  let directory: string;
  let path: string;
  beforeEach(() => {
    directory = newDirectory();
    path = join(directory, 'view');
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  /** Makes a view with one record and closes it in order. */
  async function make(): Promise<void> {
    const writer = openLmdbWriter({ path });
    await writer.apply(
      Array.from({ length: 500 }, (_, i) => upserted(`k${i}.res.ns.v1`)),
      5,
    );
    await writer.close();
  }

  async function cursorAfterOpening(): Promise<number | null> {
    const writer = openLmdbWriter({ path });
    const cursor = writer.cursor();
    await writer.close();
    return cursor;
  }

  const DAMAGE: readonly (readonly [what: string, damage: () => void])[] = [
    ['filled with other bytes', () => writeFileSync(path, Buffer.alloc(100_000, 7))],
    ['empty', () => writeFileSync(path, '')],
    ['shorter than its pages', () => truncateSync(path, 5 * 8192)],
    [
      'of another layout',
      () =>
        writeFileSync(path, readFileSync(path, 'latin1').replaceAll('uqrp-view 1', 'uqrp-view 0'), 'latin1'),
    ],
    ['not marked', () => rmSync(`${path}-state`)],
    [
      'marked by another start of the machine',
      () => writeFileSync(`${path}-state`, 'open 00000000-0000-0000-0000-000000000000'),
    ],
  ];
  for (const [what, damage] of DAMAGE) {
    it(`makes a file anew that is ${what}`, async () => {
      await make();
      damage();
      assert.equal(await cursorAfterOpening(), null);
      await make();
      assert.equal(await cursorAfterOpening(), 5);
    });
  }

  it('refuses to read where there is no view, or a damaged one', () => {
    assert.throws(() => openLmdbReader({ path }), /not there/);
    writeFileSync(path, Buffer.alloc(100_000, 7));
    assert.throws(() => openLmdbReader({ path }), /cannot be read/);
  });

  it('shows a reader in the same turn what was committed, once it refreshes', async () => {
    const stamps = createStamps();
    const writer = openLmdbWriter({ path, stamps });
    const readers = [openLmdbReader({ path }), openLmdbReader({ path, stamps })];
    for (let i = 1; i <= 20; i++) {
      const change = upserted('res.ns.v1', String(i));
      await writer.apply([change], i);
      stamps.bumpFor(change);
      for (const reader of readers) {
        reader.refresh();
        assert.equal(Buffer.from(reader.record('res.ns.v1')!.data).toString(), String(i));
      }
    }
    const before = stamps.read(stamps.stampOfKey('any.res.ns.v1'));
    await writer.clear();
    assert.notEqual(stamps.read(stamps.stampOfKey('any.res.ns.v1')), before);
    for (const reader of readers) {
      reader.refresh();
      assert.equal(reader.record('res.ns.v1'), null);
      await reader.close();
    }
    await writer.close();
  });

  it('shows worker threads every commit that they were told of', async () => {
    const stamps = createStamps();
    const writer = openLmdbWriter({ path, stamps });
    await writer.apply([upserted('res.ns.v1', '0')], 0);
    const source = `
      import { parentPort, workerData } from 'node:worker_threads';
      const { openLmdbReader } = await import(workerData.view);
      const { attachStamps } = await import(workerData.stampsFile);
      const stamps = attachStamps(workerData.stamps);
      const reader = openLmdbReader({ path: workerData.path, stamps });
      const stripe = stamps.stampOfKey('res.ns.v1');
      const first = stamps.read(stripe);
      let stale = 0;
      parentPort.postMessage('ready');
      for (let last = 0; last < 500; ) {
        const told = stamps.read(stripe) - first;
        reader.refresh();
        last = Number(Buffer.from(reader.record('res.ns.v1').data).toString());
        if (last < told) stale++;
      }
      await reader.close();
      parentPort.postMessage(stale);
    `;
    const workerData = {
      path,
      stamps: stamps.buffer,
      view: new URL('./lmdb-view.ts', import.meta.url).href,
      stampsFile: new URL('./stamps.ts', import.meta.url).href,
    };
    const url = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
    const workers = [new Worker(url, { workerData }), new Worker(url, { workerData })];
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    const stale = workers.map((worker) => once(worker, 'message'));
    for (let i = 1; i <= 500; i++) {
      const change = upserted('res.ns.v1', String(i));
      await writer.apply([change], i);
      stamps.bumpFor(change);
    }
    assert.deepEqual(await Promise.all(stale), [[0], [0]]);
    await Promise.all(workers.map((worker) => worker.terminate()));
    await writer.apply([upserted('res.ns.v1', 'still works')], 501);
    await writer.close();
  });

  it('is at a committed state after the process is killed, cursor and data in agreement', async () => {
    for (let round = 0; round < 3; round++) {
      const child = fork(new URL('./testing/view-victim.ts', import.meta.url), [path], { stdio: 'ignore' });
      await once(child, 'message');
      child.kill('SIGKILL');
      await once(child, 'exit');
      const writer = openLmdbWriter({ path });
      const reader = openLmdbReader({ path });
      const cursor = writer.cursor()!;
      assert.ok(cursor >= 50, `cursor ${cursor}`);
      for (const key of ['first.res.ns.v1', 'last.res.ns.v1']) {
        assert.equal(Buffer.from(reader.record(key)!.data).toString(), String(cursor));
      }
      await reader.close();
      await writer.close();
    }
  });

  it('moves the cursor with the data, or neither', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    const reader = openLmdbReader({ path });
    await writer.apply([upserted('res.ns.v1', 'kept')], 7);
    const tooLarge = upserted('other.ns.v1', 'x'.repeat(5000));
    await assert.rejects(writer.apply([upserted('res.ns.v1', 'lost'), tooLarge], 8), RangeError);
    reader.refresh();
    assert.equal(Buffer.from(reader.record('res.ns.v1')!.data).toString(), 'kept');
    assert.equal(writer.cursor(), 7);
    await reader.close();
    await writer.close();
  });

  it('passes over names that no question can ask for', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    const long = 'x'.repeat(300);
    await writer.apply(
      [
        upserted(`${long}.ns.v1`),
        namespaceUpserted(long),
        { ...minted('ns', 't'), digest: 'ff' } as ChangeBody,
      ],
      1,
    );
    assert.equal(writer.cursor(), 1);
    await writer.close();
  });

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
    const holds = (text: string): boolean => readFileSync(path, 'latin1').includes(text);
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

  it('wipes by itself some time after an erasure', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 1 });
    await writer.apply([upserted('res.ns.v1', 'the secret')], 1);
    await writer.apply([deleted('res.ns.v1')], 2);
    while (readFileSync(path, 'latin1').includes('the secret')) await nextTurn();
    await writer.close();
  });

  it('does not grow by wiping', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    const sizes: number[] = [];
    for (let i = 0; i < 60; i++) {
      await writer.apply([upserted('res.ns.v1', `payload ${i}`), deleted('res.ns.v1')], i);
      writer.wipe();
      sizes.push(readFileSync(path).length);
    }
    assert.equal(sizes.at(-1), sizes[20]);
    await writer.close();
  });

  it('rebuilds over what a wipe left that was cut short', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    await writer.clear();
    await writer.apply([], 0);
    const tree = open<Uint8Array, Uint8Array>({
      path,
      noSubdir: true,
      keyEncoding: 'binary',
      encoding: 'binary',
    });
    await tree.put(Uint8Array.of(0xff, 0, 0, 0, 0), Buffer.alloc(3900));
    await tree.close();
    await writer.load([upserted('b.res.ns.v1'), upserted('a.res.ns.v1'), namespaceUpserted('ns')]);
    await writer.apply([], 2);
    const reader = openLmdbReader({ path });
    assert.ok(reader.record('a.res.ns.v1') !== null && reader.record('b.res.ns.v1') !== null);
    await reader.close();
    await writer.close();
  });

  it('takes a rebuild only into an empty view, and needs a clear after one that failed', async () => {
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    await writer.apply([upserted('z.res.ns.v1')], 1);
    await writer.load([upserted('a.res.ns.v1')]);
    await assert.rejects(writer.apply([], 2), /not empty/);
    await assert.rejects(writer.apply([], 2), /must be cleared/);
    await writer.clear();
    await writer.load([upserted('a.res.ns.v1')]);
    await writer.apply([], 3);
    assert.equal(writer.cursor(), 3);
    await writer.close();
  });
});
