import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { describeAdoption } from '../../test/support/view/adopt-suite.ts';
import { describeDatasets } from '../../test/support/view/datasets/view-suite.ts';
import { describeExpired } from '../../test/support/view/expired-suite.ts';
import { payloadText } from '../../test/support/view/memory-view.ts';
import { minted, namespaceUpserted, upserted } from '../../test/support/view/view-changes.ts';
import { describeView, type ViewFixture } from '../../test/support/view/view-suite.ts';
import type { ChangeBody } from '../protocol/change.ts';
import { announcedApply, createFreshness, type FreshnessCounters } from './freshness.ts';
import { generationPath, readState } from './lmdb/view-directory.ts';
import { openLmdbReader } from './reader.ts';
import { type DiscardReason, openLmdbWriter } from './writer.ts';

function fixture(directory: string): ViewFixture {
  const path = join(directory, 'view');
  // A small memory for sorting, so that rebuilds of the suite use the temporary file.
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
    copy: async () => (await writer.copyTo(join(directory, `copy-${copies++}`))).file,
    spoiled() {
      const spoiled = join(directory, 'spoiled');
      writeFileSync(spoiled, Buffer.alloc(65_536, 1));
      return spoiled;
    },
  };
}

let copies = 0;

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'view-test-'));

describeView('LMDB view', async () => fixture(newDirectory()));
describeAdoption('LMDB view', async () => fixture(newDirectory()));
describeExpired('LMDB view', async () => fixture(newDirectory()));
describeDatasets('LMDB view', async () => fixture(newDirectory()));

describe('a view that is replaced', () => {
  let path: string;
  beforeEach(() => {
    path = join(newDirectory(), 'view');
  });
  afterEach(() => rmSync(join(path, '..'), { recursive: true, force: true }));

  /** Builds the next generation with one record. */
  async function replace(writer: ReturnType<typeof openLmdbWriter>): Promise<void> {
    const rebuild = await writer.rebuild();
    await rebuild.load([namespaceUpserted('acme'), upserted('new.acme.v1')]);
    await rebuild.finish([], 1, 'epoch');
    await rebuild.discard();
  }

  it('is named before it is announced: a reader that wakes in between would keep the old file (E01)', async () => {
    const freshness = createFreshness();
    const order: string[] = [];
    const watched: FreshnessCounters = {
      ...freshness,
      setGeneration(generation) {
        order.push(`generation ${generation}, on disk ${readState(path)?.generation}`);
        freshness.setGeneration(generation);
      },
      beginAll() {
        order.push(`begins at ${freshness.generation()}`);
        const end = freshness.beginAll();
        return () => {
          order.push(`ends at ${freshness.generation()}`);
          end();
        };
      },
    };
    const writer = openLmdbWriter({ path, freshness: watched, wipeAfterMs: 0 });
    order.length = 0;
    await replace(writer);
    assert.deepEqual(order, ['begins at 1', 'generation 2, on disk 2', 'ends at 2']);
    await writer.close();
  });

  it('is opened again by a reader that could not open it at first (E03)', async () => {
    const freshness = createFreshness();
    const writer = openLmdbWriter({ path, freshness, wipeAfterMs: 0 });
    await writer.apply([{ seq: 1, at: 0, owner: '', ...namespaceUpserted('acme') }] as never, 1);
    const reader = openLmdbReader({ path, freshness });
    const next = generationPath(path, 2);
    await replace(writer);
    // As when the process is out of file handles.
    renameSync(next, `${next}.away`);
    reader.refresh();
    assert.equal(reader.record('new.acme.v1'), null);
    renameSync(`${next}.away`, next);
    // Nothing is announced again.
    reader.refresh();
    assert.notEqual(reader.record('new.acme.v1'), null);
    await reader.close();
    await writer.close();
  });
});

describe('LMDB view and its file', () => {
  let directory: string;
  /** Directory of the view, and the file in it that serves before the first rebuild. */
  let path: string;
  let file: string;
  beforeEach(() => {
    directory = newDirectory();
    path = join(directory, 'view');
    file = join(path, '1.mdb');
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('is marked as open once, before the first change, and not at each', async () => {
    const writer = openLmdbWriter({ path });
    await writer.apply([], 1);
    const marked = statSync(join(path, 'state')).ino;
    await writer.apply([], 2);
    // It is replaced whole at each mark.
    assert.equal(statSync(join(path, 'state')).ino, marked);
    await writer.close();
  });

  /** Makes a view with one record and closes it in order. */
  async function make(): Promise<void> {
    const writer = openLmdbWriter({ path });
    await writer.apply(
      Array.from({ length: 500 }, (_, i) => upserted(`k${i}.res.ns.v1`)),
      5,
    );
    await writer.close();
  }

  async function opened(): Promise<{ cursor: number | null; discarded: DiscardReason[] }> {
    const discarded: DiscardReason[] = [];
    const writer = openLmdbWriter({ path, onDiscarded: (reason) => discarded.push(reason) });
    const cursor = writer.cursor();
    await writer.close();
    return { cursor, discarded };
  }

  const DAMAGE: readonly (readonly [what: string, reason: DiscardReason | null, damage: () => void])[] = [
    ['filled with other bytes', 'damaged', () => writeFileSync(file, Buffer.alloc(100_000, 7))],
    ['empty', 'damaged', () => writeFileSync(file, '')],
    ['missing', 'damaged', () => rmSync(file)],
    ['shorter than its pages', 'damaged', () => truncateSync(file, 5 * 8192)],
    [
      'of another layout',
      'layout',
      () =>
        writeFileSync(file, readFileSync(file, 'latin1').replaceAll('uqrp-view 3', 'uqrp-view 2'), 'latin1'),
    ],
    ['not named by a state', null, () => rmSync(join(path, 'state'))],
    [
      'marked by another start of the machine',
      'untrusted',
      () => writeFileSync(join(path, 'state'), '1 open 00000000-0000-0000-0000-000000000000'),
    ],
  ];
  for (const [what, reason, damage] of DAMAGE) {
    it(`throws a file away that is ${what}, and says why`, async () => {
      await make();
      damage();
      assert.deepEqual(await opened(), { cursor: null, discarded: reason === null ? [] : [reason] });
      await make();
      assert.deepEqual(await opened(), { cursor: 5, discarded: [] });
    });
  }

  it('is readable by its owner alone, with any umask, and also when its files were readable by others before', async () => {
    const modes = (): Record<string, string> =>
      Object.fromEntries(
        ['', ...readdirSync(path)].map((name) => [
          name,
          (statSync(join(path, name)).mode & 0o777).toString(8),
        ]),
      );
    const expected = (generation: number) => ({
      '': '700',
      [`${generation}.mdb`]: '600',
      [`${generation}.mdb-lock`]: '600',
      state: '600',
    });
    const before = process.umask(0);
    try {
      await make();
      assert.deepEqual(modes(), expected(1));
      for (const name of Object.keys(modes())) chmodSync(join(path, name), name === '' ? 0o755 : 0o644);
      const writer = openLmdbWriter({ path });
      assert.deepEqual(modes(), expected(1));
      await (await writer.rebuild()).finish([], 1, 'an epoch');
      await writer.close();
      assert.deepEqual(modes(), expected(2));
    } finally {
      process.umask(before);
    }
  });

  it('removes the readable files that an earlier release left, and says so', async () => {
    for (const end of ['', '-lock', '-state']) writeFileSync(path + end, 'secret', { mode: 0o644 });
    assert.deepEqual(await opened(), { cursor: null, discarded: ['layout'] });
    assert.deepEqual(readdirSync(directory), ['view']);
  });

  it('refuses to read where there is no view, or a damaged one', () => {
    assert.throws(() => openLmdbReader({ path }), /not there/);
    mkdirSync(path);
    writeFileSync(join(path, 'state'), '1 clean');
    writeFileSync(file, Buffer.alloc(100_000, 7));
    assert.throws(() => openLmdbReader({ path }), /cannot be read/);
  });

  it('shows a reader in the same tick what was committed, once it refreshes', async () => {
    const freshness = createFreshness();
    const writer = openLmdbWriter({ path, freshness });
    const apply = announcedApply(writer, freshness);
    const readers = [openLmdbReader({ path }), openLmdbReader({ path, freshness })];
    for (let i = 1; i <= 20; i++) {
      await apply([upserted('res.ns.v1', String(i))], i);
      for (const reader of readers) {
        reader.refresh();
        assert.equal(payloadText(reader.record('res.ns.v1')), String(i));
      }
    }
    const before = freshness.read(freshness.counterOfKey('any.res.ns.v1'));
    await (await writer.rebuild()).finish([], 21, 'an epoch');
    assert.notEqual(freshness.read(freshness.counterOfKey('any.res.ns.v1')), before);
    for (const reader of readers) {
      reader.refresh();
      assert.equal(reader.record('res.ns.v1'), null);
      await reader.close();
    }
    await writer.close();
  });

  it('shows a reader a commit before the end of its announcement, also one that looked after the beginning', async () => {
    const freshness = createFreshness();
    const writer = openLmdbWriter({ path, freshness });
    const reader = openLmdbReader({ path, freshness });
    const change = upserted('res.ns.v1', 'new');
    const end = freshness.begin([change]);
    reader.refresh();
    assert.equal(reader.record('res.ns.v1'), null);
    await writer.apply([change], 1);
    reader.refresh();
    assert.notEqual(reader.record('res.ns.v1'), null, 'another thread may have answered from it');
    end();
    await reader.close();
    await writer.close();
  });

  it('shows worker threads every announced commit', async () => {
    const freshness = createFreshness();
    const writer = openLmdbWriter({ path, freshness });
    const apply = announcedApply(writer, freshness);
    await writer.apply([upserted('res.ns.v1', '0')], 0);
    const source = `
      import { parentPort, workerData } from 'node:worker_threads';
      const { openLmdbReader } = await import(workerData.view);
      const { attachFreshness } = await import(workerData.freshnessFile);
      const freshness = attachFreshness(workerData.freshness);
      const reader = openLmdbReader({ path: workerData.path, freshness });
      const stripe = freshness.counterOfKey('res.ns.v1');
      const first = freshness.read(stripe);
      let stale = 0;
      parentPort.postMessage('ready');
      for (let last = 0; last < 500; ) {
        const told = (freshness.read(stripe) - first) >> 1;
        reader.refresh();
        last = Number(Buffer.from(reader.record('res.ns.v1').data).toString());
        if (last < told) stale++;
      }
      await reader.close();
      parentPort.postMessage(stale);
    `;
    const workerData = {
      path,
      freshness: freshness.buffer,
      view: new URL('./reader.ts', import.meta.url).href,
      freshnessFile: new URL('./freshness.ts', import.meta.url).href,
    };
    const url = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
    const workers = [new Worker(url, { workerData }), new Worker(url, { workerData })];
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    const stale = workers.map((worker) => once(worker, 'message'));
    for (let i = 1; i <= 500; i++) {
      await apply([upserted('res.ns.v1', String(i))], i);
    }
    assert.deepEqual(await Promise.all(stale), [[0], [0]]);
    await Promise.all(workers.map((worker) => worker.terminate()));
    await writer.apply([upserted('res.ns.v1', 'still works')], 501);
    await writer.close();
  });

  it('has a committed state after the process is killed, with the cursor of the data', async () => {
    for (let round = 0; round < 3; round++) {
      const child = fork(new URL('../../test/support/view/view-victim.ts', import.meta.url), [path], {
        stdio: 'ignore',
      });
      await once(child, 'message');
      child.kill('SIGKILL');
      await once(child, 'exit');
      const writer = openLmdbWriter({ path });
      const reader = openLmdbReader({ path });
      const cursor = writer.cursor()!;
      assert.ok(cursor >= 50, `cursor ${cursor}`);
      for (const key of ['first.res.ns.v1', 'last.res.ns.v1']) {
        assert.equal(payloadText(reader.record(key)), String(cursor));
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
    assert.equal(payloadText(reader.record('res.ns.v1')), 'kept');
    assert.equal(writer.cursor(), 7);
    await reader.close();
    await writer.close();
  });

  it('skips names that no query can contain', async () => {
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
});
