import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { beforeEach, describe, it } from 'node:test';
import { hourKey, signingKeys } from '../../../test/support/feed/batch/keys.ts';
import { EPOCH, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker, type MemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import {
  FORMAT,
  inPieces,
  type SnapshotWorld,
  snapshotWorld,
} from '../../../test/support/feed/snapshots/snapshot-world.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Bus, BusError } from '../bus/bus.ts';
import {
  manifestName,
  openManifest,
  partName,
  SNAPSHOT_ID_OCTETS,
  type SnapshotManifest,
  writeManifest,
  writePart,
} from './manifest.ts';
import { createSnapshotWriter } from './snapshot-maker.ts';

const PART = LIMITS.feedSnapshotPart;

describe('snapshots of a broker that nobody trusts', () => {
  let broker: MemoryBroker;
  let bus: Bus;
  let world: SnapshotWorld;
  beforeEach(() => {
    broker = createMemoryBroker();
    bus = broker.connect('control');
    world = snapshotWorld(bus, broker.connect('node'));
  });

  const put = (seq: number, content: Uint8Array): Promise<SnapshotManifest> =>
    world.writer.put({ kind: 'view', epoch: EPOCH, seq, format: FORMAT, content: inPieces(content) });
  const chunk = async (name: string): Promise<Uint8Array> => (await bus.getChunk(name))!;

  /** The download fails for this reason, is counted, and leaves nothing. */
  async function refusedDownload(manifest: SnapshotManifest, reason: string): Promise<void> {
    world.refused.length = 0;
    await assert.rejects(world.reader.download(manifest), { reason });
    assert.deepEqual([world.refused, world.files.drafts, world.files.whole.size], [[reason], 0, 0]);
  }

  it('refuses parts that are forged, truncated, exchanged, repeated from another snapshot, or missing', async () => {
    const old = await put(1, randomBytes(3 * PART));
    const oldPart = await chunk(partName(old, 1));
    const made = await put(2, randomBytes(3 * PART));
    const [first, second] = [await chunk(partName(made, 0)), await chunk(partName(made, 1))];
    const forged = Uint8Array.from(second);
    forged[forged.length >> 1]! ^= 1;
    const cases: [Uint8Array, string][] = [
      [forged, 'decrypt'],
      [second.subarray(0, second.length - 1), 'decrypt'],
      [second.subarray(0, 5), 'size'],
      [new Uint8Array(0), 'size'],
      [new Uint8Array(LIMITS.feedMessage + 1), 'size'],
      [first, 'decrypt'],
      [oldPart, 'decrypt'],
    ];
    for (const [bytes, reason] of cases) {
      await bus.putChunk(partName(made, 1), bytes);
      await refusedDownload(made, reason);
    }
    await bus.deleteChunk(partName(made, 1));
    await refusedDownload(made, 'missing');
    await bus.putChunk(partName(made, 1), second);
    assert.ok(await world.reader.download(made));
  });

  it('refuses a content that a node of this hour forged together with the broker', async () => {
    const made = await put(1, randomBytes(2 * PART));
    const place = { id: made.id, index: 1 };
    const random = (octets: number): Uint8Array => randomBytes(octets);
    await bus.putChunk(partName(made, 1), writePart(randomBytes(PART), place, hourKey(7), random));
    await refusedDownload(made, 'content');
    // A small message that becomes a gigabyte.
    await bus.putChunk(partName(made, 1), writePart(Buffer.alloc(1 << 27), place, hourKey(7), random));
    await refusedDownload(made, 'decompress');
    await bus.putChunk(partName(made, 1), writePart(randomBytes(PART - 1), place, hourKey(7), random));
    await refusedDownload(made, 'decompress');
  });

  it('passes over manifests that are forged, truncated, of a stranger, of another kind or version', async () => {
    await put(1, Buffer.alloc(1));
    const good = await put(2, Buffer.alloc(1));
    const [newest] = await world.reader.find('view');
    const name = manifestName('view', newest!.slot);
    const bytes = await chunk(name);
    const forged = Uint8Array.from(bytes);
    forged[bytes.length - 100]! ^= 1;
    const later = Uint8Array.from(bytes);
    later[4] = 3;
    const other = await world.writer.put({
      kind: 'geoip',
      epoch: EPOCH,
      seq: 1,
      format: FORMAT,
      content: inPieces(Buffer.alloc(1)),
    });
    const cases: [Uint8Array, string][] = [
      [forged, 'signature'],
      [bytes.subarray(0, 200), 'signature'],
      [bytes.subarray(0, 20), 'size'],
      [Buffer.concat([bytes, Buffer.alloc(600)]), 'size'],
      [later, 'version'],
      [writeManifest(good, { ...secrets, signer: signingKeys(9).signer }), 'signer'],
      [writeManifest(other, secrets), 'format'],
      [writeManifest({ ...good, parts: 9 }, secrets), 'format'],
      [Buffer.from('no manifest at all, but long enough to have a signature of sixty-four octets'), 'format'],
    ];
    for (const [spoiled, reason] of cases) {
      world.refused.length = 0;
      await bus.putChunk(name, spoiled);
      const found = await world.reader.find('view');
      assert.deepEqual([found.map(({ manifest }) => manifest.seq), world.refused], [[1], [reason]]);
    }
  });

  it('compares the size that a manifest states with its limit, before anything is downloaded', () => {
    const manifest = (kind: 'view' | 'geoip', octets: number): SnapshotManifest => ({
      kind,
      id: randomBytes(SNAPSHOT_ID_OCTETS),
      keyId: hourKey(7).id,
      epoch: EPOCH,
      seq: 1,
      at: 1,
      octets,
      partOctets: octets,
      parts: Math.ceil(octets / PART),
      sha256: createHash('sha256').digest(),
      format: FORMAT,
    });
    for (const [kind, limit] of [
      ['view', LIMITS.feedSnapshot],
      ['geoip', LIMITS.feedFile],
    ] as const) {
      const open = (octets: number): SnapshotManifest =>
        openManifest(writeManifest(manifest(kind, octets), secrets), verifier, kind);
      assert.equal(open(limit).octets, limit);
      assert.throws(() => open(limit + 1), { reason: 'size' });
    }
  });

  it('are put whole by a broker that is late with some parts, and not by one that is late three times with one', async () => {
    const late = new Map<string, number>();
    let times = 2;
    const slow = createSnapshotWriter({
      bus: {
        ...bus,
        async putChunk(name, data) {
          late.set(name, (late.get(name) ?? 0) + 1);
          // It was stored all the same, as far as anybody knows.
          await bus.putChunk(name, data);
          if (late.get(name)! <= times && !name.includes('manifest')) throw new BusError('timeout');
        },
      },
      secrets: () => ({ key: world.key, signer: secrets.signer, random: (octets) => randomBytes(octets) }),
      verifier,
      clock: () => world.now,
    });
    const content = randomBytes(3 * PART);
    const made = { kind: 'view', epoch: EPOCH, seq: 1, format: FORMAT } as const;
    const manifest = await slow.put({ ...made, content: inPieces(content) });
    assert.deepEqual(world.files.whole.get(await world.reader.download(manifest)), content);
    times = 3;
    await assert.rejects(slow.put({ ...made, content: inPieces(content) }), { reason: 'timeout' });
  });

  it('are put by a broker that is late with each manifest and each part that it deletes', async () => {
    const asked = new Set<string>();
    /** Done all the same, as far as anybody knows. */
    async function lateOnce(call: string, done: Promise<void>): Promise<void> {
      await done;
      if (asked.has(call)) return;
      asked.add(call);
      throw new BusError('timeout');
    }
    let deleted = 0;
    const slow = createSnapshotWriter({
      bus: {
        ...bus,
        putChunk: (name, data) => {
          const done = bus.putChunk(name, data);
          return name.includes('manifest') ? lateOnce(`put ${name} ${data.length}`, done) : done;
        },
        deleteChunk(name) {
          deleted++;
          return lateOnce(`delete ${name}`, bus.deleteChunk(name));
        },
      },
      secrets: () => ({ key: world.key, signer: secrets.signer, random: (octets) => randomBytes(octets) }),
      verifier,
      clock: () => world.now,
    });
    for (let seq = 1; seq <= 3; seq++) {
      const content = inPieces(randomBytes(2 * PART));
      await slow.put({ kind: 'view', epoch: EPOCH, seq, format: FORMAT, content });
    }
    assert.ok(asked.size > 2, 'manifests and parts were late');
    assert.ok(deleted >= 4);
    assert.deepEqual(
      (await world.reader.find('view')).map(({ manifest }) => manifest.seq),
      [3, 2],
    );
  });

  it('removes a draft when the disk is full', async () => {
    const made = await put(1, randomBytes(2 * PART));
    world.files.room = PART + 1;
    await assert.rejects(world.reader.download(made), { code: 'ENOSPC' });
    assert.deepEqual([world.files.drafts, world.files.whole.size, world.refused], [0, 0, []]);
  });

  it('puts nothing above the limit of its kind', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (let octets = 0; octets <= LIMITS.feedFile; octets += 64 * PART) yield Buffer.alloc(64 * PART);
    }
    const content = { kind: 'geoip', epoch: EPOCH, seq: 1, format: FORMAT, content: endless() } as const;
    await assert.rejects(world.writer.put(content), RangeError);
    assert.deepEqual(await world.reader.find('geoip'), []);
  });
});
