import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { EPOCH, verifier } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { type SnapshotWorld, snapshotWorld } from '../../../test/support/feed/snapshots/snapshot-world.ts';
import { DiskFullError, systemFiles } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import { feedKeyRing } from '../message/keys.ts';
import {
  contentOf,
  diskFiles,
  roomForSnapshots,
  type SharedFile,
  sharedFile,
  startTakingFiles,
  takeFile,
} from './shared-files.ts';
import { createSnapshotReader, type SnapshotReader } from './snapshot-reader.ts';

describe('files that control keeps for its nodes', () => {
  let directory: string;
  let world: SnapshotWorld;
  let reader: SnapshotReader;
  let atControl: string;
  let atNode: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'shared-files-'));
    [atControl, atNode] = [join(directory, 'control.mmdb'), join(directory, 'node.mmdb')];
    const broker = createMemoryBroker();
    const node = broker.connect('node');
    world = snapshotWorld(broker.connect('control'), node);
    reader = createSnapshotReader({
      bus: node,
      verifier,
      keys: () => feedKeyRing(world.keys),
      files: diskFiles(join(directory, 'incoming')),
    });
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  async function put(text: string, seconds: number): Promise<void> {
    writeFileSync(atControl, text);
    utimesSync(atControl, seconds, seconds);
    await world.writer.put((await contentOf(sharedFile('geoip', atControl), EPOCH))!);
  }
  const held = (): string => readFileSync(atNode, 'utf8');

  it('a node takes a file that it does not have, and a changed one, once', async () => {
    assert.equal(await contentOf(sharedFile('geoip', atControl), EPOCH), null);
    assert.equal(await takeFile(reader, sharedFile('geoip', atNode)), false);
    await put('first', 1_000);
    assert.equal(await takeFile(reader, sharedFile('geoip', atNode)), true);
    assert.deepEqual([held(), statSync(atNode).mtimeMs], ['first', 1_000_000]);
    assert.equal(await takeFile(reader, sharedFile('geoip', atNode)), false);
    await put('second', 2_000.123);
    assert.equal(await takeFile(reader, sharedFile('geoip', atNode)), true);
    assert.equal(await takeFile(reader, sharedFile('geoip', atNode)), false);
    assert.equal(held(), 'second');
  });

  it('an older one, as a broker may repeat it, changes nothing; nor does one that cannot be read', async () => {
    await put('old', 1_000);
    writeFileSync(atNode, 'newer');
    utimesSync(atNode, 1_500, 1_500);
    assert.equal(await takeFile(reader, sharedFile('geoip', atNode)), false);
    await put('newest', 2_000);
    world.keys = [];
    await assert.rejects(takeFile(reader, sharedFile('geoip', atNode)), { reason: 'key' });
    assert.equal(held(), 'newer');
  });

  it('looks at the start, and goes on after a failure', async () => {
    await put('first', 1_000);
    const errors: unknown[] = [];
    const broken: SharedFile = {
      ...sharedFile('geoip', atNode),
      kind: 'stock-map',
      changedAt: () => Promise.reject(new Error('disk')),
    };
    await world.writer.put({
      ...(await contentOf(sharedFile('geoip', atControl), EPOCH))!,
      kind: 'stock-map',
    });
    const taking = startTakingFiles({
      reader,
      files: [broken, sharedFile('geoip', atNode)],
      onError: (error) => errors.push(error),
      ready: Promise.resolve(),
    });
    await new Promise((resolve) => setImmediate(resolve));
    await taking.stop();
    assert.deepEqual([held(), errors.length], ['first', 1]);
  });

  it('takes one at a time, also when the first takes minutes', async () => {
    await put('first', 1_000);
    const timers = createManualTimers();
    const slow = Promise.withResolvers<void>();
    let downloads = 0;
    const taking = startTakingFiles({
      reader: {
        ...reader,
        async download(manifest) {
          downloads++;
          await slow.promise;
          return reader.download(manifest);
        },
      },
      files: [sharedFile('geoip', atNode)],
      onError: (error) => assert.fail(String(error)),
      ready: Promise.resolve(),
      timers,
    });
    await timers.advance(180_000);
    while (downloads === 0) await new Promise((resolve) => setImmediate(resolve));
    await timers.advance(180_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(downloads, 1);
    slow.resolve();
    await taking.stop();
    assert.equal(held(), 'first');
  });
});

it('a part of a download is written where the disk keeps its reserve, and refused with an octet less', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'download-room-'));
  const part = Buffer.alloc(1_000, 'x');
  let free = LIMITS.feedSnapshotReserve + part.length;
  const files = diskFiles(directory, systemFiles, (path) => roomForSnapshots(path, () => free));
  const draft = await files.create('view');
  await draft.write(part);
  free--;
  await assert.rejects(draft.write(part), DiskFullError);
  await draft.discard();
  assert.deepEqual(readdirSync(directory), []);
  rmSync(directory, { recursive: true, force: true });
});
