import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { hourKey } from '../../../test/support/feed/batch/keys.ts';
import { EPOCH } from '../../../test/support/feed/batch/messages.ts';
import { inState } from '../../../test/support/feed/bus/bus-suite.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { natsMissing, startNats } from '../../../test/support/feed/bus/nats-server.ts';
import { natsWorld } from '../../../test/support/feed/bus/nats-world.ts';
import { FORMAT, inPieces, snapshotWorld } from '../../../test/support/feed/snapshots/snapshot-world.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Bus } from '../bus/bus.ts';
import type { SnapshotContent } from './manifest.ts';

interface Ends {
  readonly control: Bus;
  readonly node: Bus;
  close(): Promise<void>;
}

const PART = LIMITS.feedSnapshotPart;

function view(seq: number, content: Uint8Array): SnapshotContent {
  return { kind: 'view', epoch: EPOCH, seq, format: FORMAT, content: inPieces(content) };
}

function snapshotSuite(name: string, open: () => Promise<Ends>, skip: string | null): void {
  describe(`snapshots over ${name}`, { skip: skip ?? false }, () => {
    const scenario = (title: string, run: (ends: Ends) => Promise<void>): void => {
      it(title, async () => {
        const ends = await open();
        try {
          await run(ends);
        } finally {
          await ends.close();
        }
      });
    };

    scenario('what is put is read again, whatever its length', async ({ control, node }) => {
      const { writer, reader, files, refused } = snapshotWorld(control, node);
      assert.deepEqual(await reader.find('view'), []);
      for (const length of [0, 1, PART - 1, PART, PART + 1, 3 * PART]) {
        const content = Buffer.concat([randomBytes(length >> 1), Buffer.alloc(length - (length >> 1), 'x')]);
        const made = await writer.put(view(length, content));
        assert.equal(made.parts, Math.ceil(length / PART));
        const [newest] = await reader.find('view');
        assert.deepEqual({ ...newest!.manifest }, made);
        const path = await reader.download(newest!.manifest);
        assert.equal(Buffer.compare(files.whole.get(path)!, content), 0);
      }
      assert.deepEqual([refused, files.drafts], [[], 0]);
    });

    scenario('a download ends with the signal, and leaves nothing', async ({ control, node }) => {
      const { writer, reader, files, refused } = snapshotWorld(control, node);
      const manifest = await writer.put(view(1, randomBytes(3 * PART)));
      const ending = new AbortController();
      ending.abort(new Error('the node stops'));
      await assert.rejects(reader.download(manifest, ending.signal), /the node stops/);
      assert.deepEqual([files.whole.size, files.drafts, refused], [0, 0, []]);
    });

    scenario('two are kept, the older ones are deleted with their parts', async ({ control, node }) => {
      const { writer, reader } = snapshotWorld(control, node);
      for (let seq = 1; seq <= 5; seq++) await writer.put(view(seq, Buffer.alloc(2 * PART, seq)));
      const found = await reader.find('view');
      assert.deepEqual(
        found.map(({ manifest }) => manifest.seq),
        [5, 4],
      );
      assert.equal((await control.chunkNames()).length, 2 + 2 * 2);
      for (const { manifest } of found) await reader.download(manifest);
    });

    scenario('what a killed writer left is removed by the next one', async ({ control, node }) => {
      const { writer, reader, files } = snapshotWorld(control, node);
      await writer.put(view(1, Buffer.alloc(PART, 1)));
      async function* killed(): AsyncGenerator<Uint8Array> {
        yield Buffer.alloc(3 * PART, 2);
        throw new Error('killed');
      }
      await assert.rejects(writer.put({ ...view(2, Buffer.alloc(0)), content: killed() }), /killed/);
      assert.ok((await control.chunkNames()).length > 2, 'there are parts without a manifest');
      const [present] = await reader.find('view');
      assert.equal(present!.manifest.seq, 1, 'the one before is still whole');
      await reader.download(present!.manifest);
      await writer.put(view(3, Buffer.alloc(PART, 3)));
      assert.equal((await control.chunkNames()).length, 4);
      const path = await reader.download((await reader.find('view'))[0]!.manifest);
      assert.equal(files.whole.get(path)![0], 3);
    });

    scenario('kinds have nothing to do with one another', async ({ control, node }) => {
      const { writer, reader, files } = snapshotWorld(control, node);
      await writer.put(view(1, Buffer.alloc(PART, 1)));
      await writer.put({ ...view(9, Buffer.from('a map')), kind: 'stock-map' });
      await writer.put(view(2, Buffer.alloc(PART, 2)));
      const [map] = await reader.find('stock-map');
      const path = await reader.download(map!.manifest);
      assert.equal(Buffer.from(files.whole.get(path)!).toString(), 'a map');
      assert.deepEqual(await reader.find('geoip'), []);
      assert.equal((await reader.find('view')).length, 2);
    });

    scenario('a clock that was set back does not make the new one the older one', async (ends) => {
      const world = snapshotWorld(ends.control, ends.node);
      await world.writer.put(view(1, Buffer.alloc(1)));
      world.now -= 3_600_000;
      await world.writer.put(view(2, Buffer.alloc(1)));
      await world.writer.put(view(3, Buffer.alloc(1)));
      const found = await world.reader.find('view');
      assert.deepEqual(
        found.map(({ manifest }) => manifest.seq),
        [3, 2],
      );
    });

    scenario('without the key of its hour a snapshot is unreadable', async (ends) => {
      const world = snapshotWorld(ends.control, ends.node);
      world.key = hourKey(8);
      await world.writer.put(view(1, Buffer.alloc(PART)));
      const [found] = await world.reader.find('view');
      await assert.rejects(world.reader.download(found!.manifest), { reason: 'key' });
      assert.deepEqual([world.refused, world.files.drafts, world.files.whole.size], [['key'], 0, 0]);
    });
  });
}

snapshotSuite(
  'a bus in memory',
  async () => {
    const broker = createMemoryBroker();
    return { control: broker.connect('control'), node: broker.connect('node'), close: async () => {} };
  },
  null,
);

snapshotSuite(
  'NATS',
  async () => {
    const world = await natsWorld(await startNats());
    const [control, node] = [world.open(), world.open({ streams: null })];
    await inState(control, 'connected');
    await inState(node, 'connected');
    // Control has the streams before its first use of them: a node reads from none that does not exist yet.
    await control.readLast();
    return { control, node, close: () => world.close() };
  },
  natsMissing(),
);
