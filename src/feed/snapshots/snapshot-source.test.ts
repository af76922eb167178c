import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createMemoryBroker, type MemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { createRig, type Rig } from '../../../test/support/feed/follower/follower-rig.ts';
import { memorySnapshotFiles } from '../../../test/support/feed/snapshots/memory-files.ts';
import {
  FORMAT,
  inPieces,
  type SnapshotWorld,
  snapshotWorld,
} from '../../../test/support/feed/snapshots/snapshot-world.ts';
import { createMemoryView } from '../../../test/support/view/memory-view.ts';
import { namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';
import { faultOf } from '../follower/health.ts';
import type { ViewSource } from '../ports/change-source.ts';
import { partName, type SnapshotManifest } from './manifest.ts';
import { snapshotSource } from './snapshot-reader.ts';

describe('a source with snapshots at the broker', () => {
  let rig: Rig;
  let broker: MemoryBroker;
  let world: SnapshotWorld;
  let source: ViewSource;
  let downloaded: number[];
  beforeEach(() => {
    rig = createRig();
    broker = createMemoryBroker();
    world = snapshotWorld(broker.connect('control'), broker.connect('node'), memorySnapshotFiles(rig.files));
    downloaded = [];
    source = snapshotSource({
      source: rig.source,
      reader: world.reader,
      format: FORMAT,
      clock: () => rig.now,
      onRefused: (reason) => world.refused.push(reason),
      onDownloaded: ({ seq }) => downloaded.push(seq),
    });
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
  });
  afterEach(() => rig.stop());

  /** A snapshot of what the source has now. */
  function put(more: Partial<SnapshotManifest> = {}): Promise<SnapshotManifest> {
    const { cursor, epoch } = rig.source.state();
    const content = inPieces(createMemoryView(rig.source.state()).copy());
    const named = { kind: 'view', epoch: epoch!, seq: cursor!, format: FORMAT, ...more } as const;
    return world.writer.put({ ...named, kind: 'view', content });
  }

  it('builds a view from a snapshot and what was written since, without pages', async () => {
    await put();
    rig.source.write(upserted('b.ns.v1'), upserted('c.ns.v1'));
    await rig.start({ source }).ready;
    rig.assertSame();
    assert.deepEqual([downloaded, rig.source.calls.page, world.refused], [[2], 0, []]);
  });

  it('takes pages where there is no snapshot', async () => {
    await rig.start({ source }).ready;
    rig.assertSame();
    assert.ok(rig.source.calls.page > 0);
  });

  it('falls back to the older snapshot, then to pages', async () => {
    await put();
    rig.source.write(upserted('b.ns.v1'));
    const newer = await put();
    await broker.connect('control').deleteChunk(partName(newer, 0));
    await rig.start({ source }).ready;
    rig.assertSame();
    assert.deepEqual([downloaded, world.refused], [[2], ['missing']]);
    await rig.follower!.stop();
    world.keys = [];
    rig.now += 60_000;
    world.refused.length = 0;
    rig.view.lose();
    await rig.start({ source }).ready;
    rig.assertSame();
    assert.deepEqual([downloaded, world.refused], [[2], ['key', 'key']]);
    assert.ok(rig.source.calls.page > 0);
  });

  it('whose parts are deleted while a node downloads them slowly begins with the newest one, and gives no part of the first', async () => {
    const first = await put();
    const { reader } = world;
    const begun: number[] = [];
    source = snapshotSource({
      source: rig.source,
      reader: {
        ...reader,
        async download(manifest, signal) {
          begun.push(manifest.seq);
          if (manifest.seq === first.seq) {
            for (const key of ['b.ns.v1', 'c.ns.v1']) {
              rig.source.write(upserted(key));
              await put();
            }
          }
          return reader.download(manifest, signal);
        },
      },
      format: FORMAT,
      clock: () => rig.now,
      onRefused: (reason) => world.refused.push(reason),
      onDownloaded: ({ seq }) => downloaded.push(seq),
    });
    await rig.start({ source }).ready;
    rig.assertSame();
    assert.deepEqual(
      [begun, downloaded, world.refused, rig.source.calls.page],
      [[2, 4], [4], ['missing'], 0],
    );
  });

  for (const [reason, more] of [
    ['epoch', { epoch: 'another' }],
    ['unfit', { format: { ...FORMAT, layout: 'layout-2' } }],
    ['unfit', { format: { ...FORMAT, pageSize: 4096 } }],
    ['unfit', { format: { ...FORMAT, machine: 'be64' } }],
    ['position', { seq: 9 }],
  ] as const) {
    it(`downloads no snapshot of another ${Object.keys(more).join()} (${reason}: ${JSON.stringify(more)})`, async () => {
      await put(more);
      await rig.start({ source }).ready;
      rig.assertSame();
      assert.deepEqual([downloaded, world.refused], [[], [reason]]);
    });
  }

  it('downloads no snapshot that is older than the log', async () => {
    await put();
    rig.source.write(upserted('b.ns.v1'), upserted('c.ns.v1'));
    rig.source.prune(3);
    await rig.start({ source }).ready;
    rig.assertSame();
    assert.deepEqual([downloaded, world.refused], [[], ['position']]);
  });

  it('does not offer a file again that the view refused', async () => {
    // The manifest says 1, the view in the file says 2.
    await put({ seq: 1 });
    await rig.start({ source }).ready;
    rig.assertSame();
    assert.deepEqual([downloaded, world.refused], [[1], ['content']]);
  });

  it('begins no download for a minute after one for which the disk had no room, and says disk_full', async () => {
    await put();
    let begun = 0;
    source = snapshotSource({
      source: rig.source,
      reader: {
        ...world.reader,
        async download() {
          begun++;
          throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
        },
      },
      format: FORMAT,
      clock: () => rig.now,
    });
    await assert.rejects(source.openSnapshot(), { code: 'ENOSPC' });
    await source.openSnapshot();
    assert.equal(begun, 1, 'pages');
    rig.now += 60_000;
    const error: unknown = await source.openSnapshot().catch((reason: unknown) => reason);
    assert.deepEqual([begun, faultOf(error, 'source')], [2, 'disk_full']);
  });

  it('downloads at most once a minute while the view cannot be finished', async () => {
    await put();
    rig.source.write(upserted('b.ns.v1'));
    rig.source.before = (call) => {
      if (call === 'since' || call === 'page') throw new Error('control is away');
    };
    rig.start({ source });
    await rig.until(() => rig.source.calls.openSnapshot >= 2);
    assert.deepEqual(downloaded, [2]);
    rig.source.before = () => undefined;
    rig.now += 60_000;
    await rig.follower!.ready;
    rig.assertSame();
  });
});
