import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { recordedFiles } from '../../test/support/base/files/hooked-files.ts';
import { payloadText } from '../../test/support/view/memory-view.ts';
import {
  deleted,
  namespaceDeleted,
  namespaceUpserted,
  upserted,
} from '../../test/support/view/view-changes.ts';
import { DiskFullError, systemFiles } from '../base/files.ts';
import { LIMITS } from '../base/limits.ts';
import { roomForSnapshots } from '../feed/snapshots/shared-files.ts';
import { createNew, FIRST, octetsOfCopy } from './lmdb/tree.ts';
import { copyAsView } from './lmdb/wipe.ts';
import { openLmdbReader } from './reader.ts';
import { type LmdbViewWriter, openLmdbWriter } from './writer.ts';

describe('a copy of the view', () => {
  let directory: string;
  let writer: LmdbViewWriter;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'copy-test-'));
    writer = openLmdbWriter({ path: join(directory, 'view'), wipeAfterMs: 0 });
  });
  afterEach(async () => {
    await writer.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const payload = (i: number): string => `payload-${i}-`.padEnd(1500, 'x');
  const keyOf = (i: number): string => `k${(i * 7919) % 100_003}.res.ns.v1`;

  it('opens as a view with the same content, while the view is written', async () => {
    const count = 5000;
    await writer.apply([namespaceUpserted('ns')], 1);
    await writer.apply(
      Array.from({ length: count }, (_, i) => upserted(keyOf(i), payload(i))),
      2,
    );
    const to = join(directory, 'copy');
    const copying = writer.copyTo(to);
    for (let i = 0; i < 20; i++) await writer.apply([upserted(keyOf(i), 'later')], 3 + i);
    const { file, cursor } = await copying;
    assert.equal(file, join(to, '1.mdb'));
    assert.ok(cursor !== null && cursor >= 2);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const copy = openLmdbWriter({ path: to, onDiscarded: (reason) => assert.fail(reason) });
    assert.equal(copy.cursor(), cursor);
    const reader = openLmdbReader({ path: to });
    for (let i = 0; i < count; i++) {
      const is = payloadText(reader.record(keyOf(i)));
      assert.equal(is, i < cursor - 2 ? 'later' : payload(i));
    }
    await reader.close();
    await copy.close();
  });

  it('has no byte of an erased payload or name, and every other one once', async () => {
    const keys = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
    await writer.apply([namespaceUpserted('ns'), namespaceUpserted('gone')], 1);
    // In an order that splits pages: the halves that moved leave their bytes behind.
    for (const part of [keys(0, 500), keys(500, 1000), keys(1000, 1500)]) {
      await writer.apply(
        part.flatMap((i) => [upserted(keyOf(i), payload(i)), upserted(`g${i}.res.gone.v1`, `gone-${i}-`)]),
        2,
      );
    }
    const isErased = (i: number): boolean => i % 3 === 0;
    await writer.apply(
      keys(0, 1500)
        .filter(isErased)
        .map((i) => deleted(keyOf(i))),
      3,
    );
    await writer.apply([namespaceDeleted('gone'), upserted(keyOf(1), 'replaced')], 4);
    const { file } = await writer.copyTo(join(directory, 'copy'));
    const bytes = readFileSync(file, 'latin1');
    const counts = keys(0, 1500).map(() => 0);
    for (const [, i] of bytes.matchAll(/payload-(\d+)-/g)) counts[Number(i)]!++;
    assert.deepEqual(
      counts,
      keys(0, 1500).map((i) => (isErased(i) || i === 1 ? 0 : 1)),
    );
    assert.equal(bytes.includes('gone-'), false);
    const served = join(directory, 'view', '1.mdb');
    assert.ok(statSync(file).size < statSync(served).size, 'free pages are left out');
  });

  it('is made again over what an earlier one left, and a view that closes waits for it', async () => {
    await writer.apply([upserted('a.ns.v1')], 1);
    const to = join(directory, 'copy');
    await writer.copyTo(to);
    await writer.apply([upserted('b.ns.v1')], 2);
    const second = writer.copyTo(to);
    await writer.close();
    assert.equal((await second).cursor, 2);
    assert.deepEqual(
      readdirSync(to).filter((name) => name.endsWith('.mdb')),
      ['1.mdb'],
    );
    writer = openLmdbWriter({ path: join(directory, 'view') });
  });
});

it('a copy is on the disk before it counts as whole', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'copy-order-'));
  const tree = createNew(join(directory, 'view.mdb'), {});
  // More than the buffers that LMDB copies through, so that they leave something behind.
  for (let i = 0; i < 1000; i++)
    tree.transactionSync(() => {
      tree.putSync(Buffer.from(`k${i}`), Buffer.alloc(3500 - (i % 7) * 100, 'x'));
    });
  const { files, events } = recordedFiles(systemFiles);
  await copyAsView(tree, join(directory, 'copy'), { files });
  await tree.close();
  rmSync(directory, { recursive: true, force: true });
  assert.deepEqual(
    events.filter((event, i) => event !== events[i - 1]),
    [
      'write 1.mdb',
      'sync 1.mdb',
      'write state.draft',
      'sync state.draft',
      'rename state.draft state',
      'sync copy/',
    ],
  );
});

it('a copy has nothing after the end of a large value either', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'copy-large-'));
  const tree = createNew(join(directory, 'view.mdb'), {});
  const key = Uint8Array.of(FIRST.datasetItem, 1);
  tree.transactionSync(() => {
    tree.putSync(key, Buffer.alloc(8100, '<long>'));
    tree.putSync(key, Buffer.alloc(5000, '<short>'));
  });
  const file = readFileSync(await copyAsView(tree, join(directory, 'copy')), 'latin1');
  await tree.close();
  rmSync(directory, { recursive: true, force: true });
  assert.ok(file.includes('<short>'));
  assert.equal(file.includes('<long>'), false);
});

it('a copy is made where the disk keeps its reserve, and with an octet less nothing of it is written', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'copy-room-'));
  const tree = createNew(join(directory, 'view.mdb'), {});
  for (let i = 0; i < 1000; i++)
    tree.transactionSync(() => {
      // Of each a page of its own, and of the others more than one.
      const key = i % 50 === 0 ? Uint8Array.of(FIRST.datasetItem, i / 50) : Buffer.from(`k${i}`);
      tree.putSync(key, Buffer.alloc(i % 50 === 0 ? 20_000 : 3000, 'x'));
    });
  const to = join(directory, 'copy');
  const need = octetsOfCopy(tree);
  const withFree = (octets: number) =>
    copyAsView(tree, to, { free: (path) => roomForSnapshots(path, () => octets) });
  try {
    const file = await withFree(need + LIMITS.feedSnapshotReserve);
    const { size } = statSync(file);
    assert.ok(size <= need && size > need - 2 ** 18, `${size} octets, ${need} were asked for`);
    await assert.rejects(withFree(need + LIMITS.feedSnapshotReserve - 1), (error) => {
      assert.ok(error instanceof DiskFullError);
      assert.match(error.message, /copy\/1\.mdb/);
      return true;
    });
    assert.deepEqual(readdirSync(to), []);
  } finally {
    await tree.close();
    rmSync(directory, { recursive: true, force: true });
  }
});
