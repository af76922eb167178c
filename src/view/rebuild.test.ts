import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { payloadText } from '../../test/support/view/memory-view.ts';
import { namespaceUpserted, upserted } from '../../test/support/view/view-changes.ts';
import { createFreshness } from './freshness.ts';
import { openLmdbReader } from './reader.ts';
import { type LmdbViewWriter, openLmdbWriter } from './writer.ts';

/** Reads existing names without a pause, as a DNS worker does, until it is stopped; then reports the names it missed. */
const HAMMER = `
  import { parentPort, workerData } from 'node:worker_threads';
  const { openLmdbReader } = await import(workerData.view);
  const { attachFreshness } = await import(workerData.freshnessFile);
  const freshness = attachFreshness(workerData.freshness);
  const reader = openLmdbReader({ path: workerData.path, freshness });
  const found = { reads: 0, misses: 0, generations: 0 };
  let ending = false;
  let last = '';
  parentPort.on('message', () => { ending = true; });
  parentPort.postMessage('ready');
  while (!ending) {
    for (let n = 0; n < 200; n++) {
      reader.refresh();
      const key = 'k' + (found.reads++ % 1000) + '.res.ns.v1';
      const record = reader.record(key);
      if (record === null || reader.namespace('ns') === null || !reader.anyBelow('ns.v1')) found.misses++;
      else if (last !== (last = Buffer.from(record.data).toString())) found.generations++;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await reader.close();
  parentPort.postMessage(found);
`;

describe('rebuild beside the serving view', () => {
  let directory: string;
  let path: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'rebuild-test-'));
    path = join(directory, 'view');
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  async function buildAt(writer: LmdbViewWriter, round: number): Promise<void> {
    const rebuild = await writer.rebuild();
    await rebuild.load([namespaceUpserted('ns')]);
    for (let i = 0; i < 1000; i++) await rebuild.load([upserted(`k${i}.res.ns.v1`, String(round))]);
    await rebuild.finish([], round, 'an epoch');
  }

  it('no reader misses an existing name through 50 rebuilds', async () => {
    await hammer(50, (writer, round) => buildAt(writer, round));
  });

  it('no reader misses an existing name while 20 snapshots are adopted', async () => {
    const maker = openLmdbWriter({ path: join(directory, 'maker'), wipeAfterMs: 0 });
    await hammer(20, async (writer, round) => {
      await buildAt(maker, round);
      const { file } = await maker.copyTo(join(directory, 'copy'));
      const rebuild = await writer.rebuild();
      await rebuild.adopt(file, { epoch: 'an epoch', seq: round });
      await rebuild.finish([upserted('late.res.ns.v1', String(round))], round, 'an epoch');
    });
    await maker.close();
  });

  it('a snapshot that was adopted takes many changes in one transaction', async () => {
    const records = 30_000;
    const all = (octets: number) =>
      Array.from({ length: records }, (_, i) =>
        upserted(`k${(i * 7919) % records}.res.ns.v1`, 'v'.repeat(octets + (i % 90))),
      );
    const maker = openLmdbWriter({ path: join(directory, 'maker'), wipeAfterMs: 0 });
    const made = await maker.rebuild();
    await made.load([namespaceUpserted('ns')]);
    await made.load(all(100));
    await made.finish([], 1, 'an epoch');
    const { file } = await maker.copyTo(join(directory, 'copy'));
    await maker.close();
    const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
    const rebuild = await writer.rebuild();
    await rebuild.adopt(file, { epoch: 'an epoch', seq: 1 });
    await rebuild.apply(all(20), 2);
    await rebuild.apply(all(120), 3);
    await rebuild.finish([], 3, 'an epoch');
    const reader = openLmdbReader({ path });
    for (let i = 0; i < records; i += 13) {
      const value = payloadText(reader.record(`k${(i * 7919) % records}.res.ns.v1`));
      assert.equal(value, 'v'.repeat(120 + (i % 90)));
    }
    await reader.close();
    await writer.close();
  });

  /** Two threads read all the time while the view is replaced. */
  async function hammer(
    rounds: number,
    replace: (writer: LmdbViewWriter, round: number) => Promise<void>,
  ): Promise<void> {
    const freshness = createFreshness();
    const writer = openLmdbWriter({ path, freshness, wipeAfterMs: 0 });
    const build = (round: number): Promise<void> => replace(writer, round);
    await build(0);
    const workerData = {
      path,
      freshness: freshness.buffer,
      view: new URL('./reader.ts', import.meta.url).href,
      freshnessFile: new URL('./freshness.ts', import.meta.url).href,
    };
    const url = new URL(`data:text/javascript,${encodeURIComponent(HAMMER)}`);
    const workers = [new Worker(url, { workerData }), new Worker(url, { workerData })];
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    for (let round = 1; round <= rounds; round++) await build(round);
    // Each thread has finished an event loop tick when it answers.
    const reports = workers.map((worker) => once(worker, 'message'));
    await sleep(50);
    for (const worker of workers) worker.postMessage('end');
    for (const [found] of await Promise.all(reports)) {
      const { reads, misses, generations } = found as Record<string, number>;
      assert.equal(misses, 0, `of ${reads} reads`);
      assert.ok(generations! > rounds / 5, `saw ${generations} views`);
    }
    await Promise.all(workers.map((worker) => worker.terminate()));
    assert.deepEqual(readdirSync(path).sort(), [`${rounds + 2}.mdb`, `${rounds + 2}.mdb-lock`, 'state']);
    const maps = readFileSync('/proc/self/maps', 'latin1').split('\n');
    const held = new Set(maps.filter((line) => line.includes(path)).map((line) => line.split(/ +/)[4]));
    assert.ok(held.size <= 2, 'the files of earlier views are closed');
    await writer.close();
  }

  it('is the whole old view or the whole new one after a process is killed during a rebuild', async () => {
    const records = 300;
    for (let round = 0; round < 8; round++) {
      const child = fork(
        new URL('../../test/support/view/rebuild-victim.ts', import.meta.url),
        [path, String(records)],
        {
          stdio: 'ignore',
        },
      );
      const [first] = (await once(child, 'message')) as [number];
      await sleep(Math.random() * 60);
      child.kill('SIGKILL');
      await once(child, 'exit');
      const writer = openLmdbWriter({ path, onDiscarded: (reason) => assert.fail(reason) });
      const reader = openLmdbReader({ path });
      const cursor = writer.cursor();
      assert.ok(cursor !== null && cursor >= first);
      for (let i = 0; i < records; i++) {
        const record = reader.record(`k${i}.res.ns.v1`);
        assert.equal(payloadText(record), String(cursor));
      }
      assert.equal(readdirSync(path).length, 3, 'what was half built is removed');
      await reader.close();
      await writer.close();
    }
  });

  it('detects that its files are gone, serves on, and is whole again after a rebuild', async () => {
    const freshness = createFreshness();
    const writer = openLmdbWriter({ path, freshness });
    await writer.apply([namespaceUpserted('ns'), upserted('res.ns.v1')], 1);
    const reader = openLmdbReader({ path, freshness });
    assert.equal(writer.isLost(), false);
    rmSync(path, { recursive: true });
    assert.equal(writer.isLost(), true);
    assert.notEqual(reader.record('res.ns.v1'), null);
    const rebuild = await writer.rebuild();
    await rebuild.load([namespaceUpserted('ns'), upserted('res.ns.v1', 'again')]);
    await rebuild.finish([], 2, 'an epoch');
    assert.equal(writer.isLost(), false);
    reader.refresh();
    assert.equal(payloadText(reader.record('res.ns.v1')), 'again');
    await reader.close();
    await writer.close();
    const again = openLmdbWriter({ path });
    assert.equal(again.cursor(), 2);
    await again.close();
  });
});
