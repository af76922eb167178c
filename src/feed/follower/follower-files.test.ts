import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createRig, type Rig } from '../../../test/support/feed/follower/follower-rig.ts';
import { createMemoryView } from '../../../test/support/view/memory-view.ts';
import { deleted, namespaceUpserted, upserted } from '../../../test/support/view/view-changes.ts';
import type { SnapshotFile, ViewSource } from '../ports/change-source.ts';

describe('follower with snapshots as files', () => {
  let rig: Rig;
  let refused: string[];
  beforeEach(() => {
    rig = createRig();
    refused = [];
  });
  afterEach(() => rig.stop());

  /** A file of the state that the source has now. */
  function makeFile(name: string): SnapshotFile {
    const { files, source } = rig;
    files.set(name, createMemoryView(source.state()).copy());
    return {
      epoch: source.epoch,
      seq: source.state().cursor!,
      file: name,
      refuse: () => void refused.push(name),
    };
  }

  /** Gives these files in order, then pages. */
  function withFiles(...snapshots: SnapshotFile[]): ViewSource {
    return {
      ...rig.source,
      openSnapshot: async () => snapshots.shift() ?? rig.source.openSnapshot(),
    };
  }

  it('adopts a file, and readers see nothing older than the view that served', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    const file = makeFile('old');
    rig.source.write(...Array.from({ length: 25 }, (_, i) => upserted(`r${i}.ns.v1`)), deleted('a.ns.v1'));
    await rig.start({ batch: 10 }).ready;
    await rig.follower!.stop();
    rig.view.lose();
    const seen: (number | null)[] = [];
    const rebuild = rig.view.rebuild.bind(rig.view);
    rig.view.rebuild = async () => {
      const started = await rebuild();
      return {
        ...started,
        finish: async (changes, cursor, epoch) => {
          await started.finish(changes, cursor, epoch);
          seen.push(rig.view.cursor());
        },
      };
    };
    const { page } = rig.source.calls;
    await rig.start({ source: withFiles(file), batch: 10 }).ready;
    rig.assertSame();
    assert.deepEqual(seen, [28], 'every change was applied before the file served');
    assert.equal(rig.source.calls.page, page, 'no page was asked for');
    assert.deepEqual([rig.files.size, refused.length], [0, 0]);
  });

  it('refuses a file that is not what it was said to be, and goes on with the next snapshot', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    const wrong = { ...makeFile('wrong'), seq: 1 };
    const other = { ...makeFile('other'), epoch: rig.source.epoch };
    rig.files.set('other', Buffer.from('no view'));
    await rig.start({ source: withFiles(wrong, other) }).ready;
    assert.deepEqual(refused, ['wrong', 'other']);
    assert.deepEqual(rig.faults, ['view'], 'two failures in a row are one report');
    rig.assertSame();
  });

  it('refuses a file that the log does not continue', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    const file = makeFile('old');
    rig.source.write(upserted('b.ns.v1'), upserted('c.ns.v1'));
    rig.source.prune(3);
    await rig.start({ source: withFiles(file) }).ready;
    assert.deepEqual(refused, ['old']);
    rig.assertSame();
  });

  it('serves a file that has all this node has heard of, while control is away', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    const file = makeFile('whole');
    rig.source.before = (call) => {
      if (call === 'since') throw new Error('control is away');
    };
    rig.start({ source: withFiles(file) });
    await rig.until(() => rig.view.cursor() === 2);
    assert.deepEqual(refused, []);
  });

  it('never serves a file that lacks what the view has, also when the stream ends before the view does', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    const file = makeFile('old');
    rig.source.write(deleted('a.ns.v1'));
    await rig.start().ready;
    await rig.follower!.stop();
    const source = withFiles(file);
    rig.source.before = (call) => {
      if (call === 'since') throw new Error('control is away');
    };
    // The bounds are those of a stream that could not be written to its end.
    const follower = rig.start({
      source: { ...source, bounds: async () => ({ epoch: file.epoch, oldest: 1, head: 2 }) },
    });
    await follower.attempted;
    assert.deepEqual([refused, rig.view.cursor(), rig.view.record('a.ns.v1')], [['old'], 3, null]);
  });

  it('keeps the serving view while a file lacks changes and control is away', async () => {
    rig.source.write(namespaceUpserted('ns'), upserted('a.ns.v1'));
    const file = makeFile('old');
    rig.source.write(upserted('b.ns.v1'));
    await rig.start().ready;
    await rig.follower!.stop();
    rig.view.lose();
    rig.source.before = (call) => {
      if (call === 'since') throw new Error('control is away');
    };
    const follower = rig.start({ source: withFiles(file) });
    await follower.attempted;
    assert.deepEqual([rig.view.cursor(), follower.state()], [3, 'failing']);
    assert.notEqual(rig.view.record('b.ns.v1'), null);
  });
});
