import { randomBytes } from 'node:crypto';
import type { Bus } from '../../../../src/feed/bus/bus.ts';
import { type FeedKey, feedKeyRing } from '../../../../src/feed/message/keys.ts';
import type { FeedRefusal } from '../../../../src/feed/ports/refusal.ts';
import type { FileFormat } from '../../../../src/feed/snapshots/manifest.ts';
import { createSnapshotWriter, type SnapshotWriter } from '../../../../src/feed/snapshots/snapshot-maker.ts';
import { createSnapshotReader, type SnapshotReader } from '../../../../src/feed/snapshots/snapshot-reader.ts';
import { hourKey } from '../batch/keys.ts';
import { secrets, verifier } from '../batch/messages.ts';
import { type MemorySnapshotFiles, memorySnapshotFiles } from './memory-files.ts';

export const FORMAT: FileFormat = { layout: 'layout-1', pageSize: 8192, machine: 'le64' };

/** A writer and a reader at two ends of a bus. */
export interface SnapshotWorld {
  readonly writer: SnapshotWriter;
  readonly reader: SnapshotReader;
  readonly files: MemorySnapshotFiles;
  readonly refused: FeedRefusal[];
  /** The keys of the reader. */
  keys: FeedKey[];
  /** The key of the writer. */
  key: FeedKey;
  now: number;
}

export function snapshotWorld(
  control: Bus,
  node: Bus,
  files: MemorySnapshotFiles = memorySnapshotFiles(),
): SnapshotWorld {
  const refused: FeedRefusal[] = [];
  const world: SnapshotWorld = {
    files,
    refused,
    keys: [hourKey(7)],
    key: hourKey(7),
    now: 1_000_000,
    writer: createSnapshotWriter({
      bus: control,
      secrets: () => ({ key: world.key, signer: secrets.signer, random: (octets) => randomBytes(octets) }),
      verifier,
      clock: () => world.now,
    }),
    reader: createSnapshotReader({
      bus: node,
      verifier,
      keys: () => feedKeyRing(world.keys),
      files,
      onRefused: (reason) => refused.push(reason),
    }),
  };
  return world;
}

/** In pieces whose length has nothing to do with parts. */
export async function* inPieces(content: Uint8Array, piece = 100_003): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += piece) yield content.subarray(at, at + piece);
}
