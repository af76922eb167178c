/** Puts snapshots at the broker: the parts, then the manifest. Two are kept. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { BatchSecrets } from '../batch/batch.ts';
import type { FeedVerifier } from '../batch/signature.ts';
import type { Bus } from '../bus/bus.ts';
import { isLeftOver, manifestName, partName, SLOTS } from './chunk-names.ts';
import {
  type FileFormat,
  ID_OCTETS,
  type Manifest,
  octetsMax,
  type SnapshotKind,
  writeManifest,
} from './manifest.ts';
import { partsIn, writePart } from './part.ts';
import { createSnapshotReader, type FoundSnapshot } from './snapshot-reader.ts';

export interface SnapshotWriterOptions {
  readonly bus: Bus;
  /** The present hourly key with the signing key; a snapshot has one key. */
  readonly secrets: () => BatchSecrets;
  readonly verifier: FeedVerifier;
  readonly clock: Clock;
}

/** What a snapshot is made of. */
export interface SnapshotContent {
  readonly kind: SnapshotKind;
  readonly epoch: string;
  readonly seq: number;
  readonly format: FileFormat;
  /** Read once, in pieces of any length. */
  readonly content: AsyncIterable<Uint8Array>;
}

export interface SnapshotWriter {
  /**
   * One at a time for each kind. Stopped in the middle, it leaves parts that the next call removes.
   * @throws BusError; RangeError for a content above its limit
   */
  put(snapshot: SnapshotContent): Promise<Manifest>;
}

/** Calls to the broker that are under way at once. */
const AT_ONCE = 4;

export function createSnapshotWriter(options: SnapshotWriterOptions): SnapshotWriter {
  const { bus, secrets, verifier, clock } = options;
  const reader = createSnapshotReader({
    bus,
    verifier,
    keys: () => ({ find: () => null }),
    files: { create: () => Promise.reject(new Error('a writer downloads nothing')) },
  });

  async function removeOthers(kind: SnapshotKind, kept: readonly Uint8Array[]): Promise<void> {
    const names = (await bus.chunkNames()).filter((name) => isLeftOver(name, kind, kept));
    await together(names, (name) => bus.deleteChunk(name));
  }

  async function putParts(snapshot: SnapshotContent, id: Uint8Array, { key, random }: BatchSecrets) {
    const hash = createHash('sha256');
    const sums = { octets: 0, partOctets: 0, parts: 0 };
    await together(partsIn(snapshot.content), async (plain) => {
      const index = sums.parts++;
      hash.update(plain);
      sums.octets += plain.length;
      if (sums.octets > octetsMax(snapshot.kind)) throw new RangeError('a snapshot is larger than its limit');
      const message = writePart(plain, { id, index }, key, random);
      sums.partOctets += message.length;
      await bus.putChunk(partName({ kind: snapshot.kind, id }, index), message);
    });
    return { ...sums, sha256: hash.digest() };
  }

  return {
    async put(snapshot) {
      const { kind, epoch, seq, format } = snapshot;
      const present = await reader.find(kind);
      await removeOthers(kind, idsOf(present));
      const hour = secrets();
      const id = hour.random(ID_OCTETS);
      const sums = await putParts(snapshot, id, hour);
      const [newest] = present;
      // A clock that was set back must not make the new one the older one.
      const at = Math.max(clock(), (newest?.manifest.at ?? 0) + 1);
      const manifest: Manifest = { kind, id, keyId: hour.key.id, epoch, seq, at, ...sums, format };
      const slot = SLOTS.find((each) => each !== newest?.slot) ?? SLOTS[0];
      await bus.putChunk(manifestName(kind, slot), writeManifest(manifest, hour.signer));
      await removeOthers(kind, [id, ...idsOf(present.slice(0, 1))]);
      return manifest;
    },
  };
}

function idsOf(found: readonly FoundSnapshot[]): readonly Uint8Array[] {
  return found.map(({ manifest }) => manifest.id);
}

/** Begins in order, a few at once. Rejects with the first failure, when nothing is under way any more. */
async function together<T>(
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | null = null;
  for await (const item of items) {
    const run = work(item)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => running.delete(run));
    running.add(run);
    if (running.size >= AT_ONCE) await Promise.race(running);
    if (failure !== null) break;
  }
  await Promise.all(running);
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
}
