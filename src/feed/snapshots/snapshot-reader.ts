/** Finds snapshots at the broker, and downloads one. Nothing of a broker is believed: everything is checked before it is used. */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../base/limits.ts';
import type { FeedKeyRing } from '../batch/feed-key.ts';
import { type FeedRefusal, FeedRefusedError } from '../batch/refusal.ts';
import type { FeedVerifier } from '../batch/signature.ts';
import { type Bus, BusError } from '../bus/bus.ts';
import { manifestName, partName, SLOTS, type Slot } from './chunk-names.ts';
import { type Manifest, openManifest, type SnapshotKind } from './manifest.ts';
import { openPart } from './part.ts';
import type { SnapshotFiles } from './snapshot-files.ts';

export interface SnapshotReaderOptions {
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  readonly keys: () => FeedKeyRing;
  readonly files: SnapshotFiles;
  /** A manifest or a snapshot that was not used. */
  readonly onRefused?: (reason: FeedRefusal) => void;
}

export interface FoundSnapshot {
  readonly manifest: Manifest;
  readonly slot: Slot;
}

export interface SnapshotReader {
  /** Manifests that are signed by control, the newest first. @throws BusError when the broker cannot be read */
  find(kind: SnapshotKind): Promise<readonly FoundSnapshot[]>;
  /**
   * Writes the content to a new file, and compares its hash before anybody opens it.
   * @param signal ends it after the next part
   * @returns its path
   * @throws FeedRefusedError (counted), BusError, or an error of the disk; nothing is left then
   */
  download(manifest: Manifest, signal?: AbortSignal): Promise<string>;
}

/** Parts that are asked for at once: some megabytes of memory. */
const AHEAD = 4;
/** Of one part, when the broker does not answer. */
const ATTEMPTS = 3;

export function createSnapshotReader(options: SnapshotReaderOptions): SnapshotReader {
  const { bus, verifier, keys, files, onRefused } = options;

  async function open(kind: SnapshotKind, slot: Slot): Promise<FoundSnapshot | null> {
    const message = await bus.getChunk(manifestName(kind, slot));
    if (message === null) return null;
    try {
      return { manifest: openManifest(message, verifier, kind), slot };
    } catch (error) {
      if (!(error instanceof FeedRefusedError)) throw error;
      onRefused?.(error.reason);
      return null;
    }
  }

  async function part(manifest: Manifest, index: number): Promise<Uint8Array> {
    for (let attempt = 1; ; attempt++) {
      try {
        const message = await bus.getChunk(partName(manifest, index));
        if (message === null) throw new FeedRefusedError('missing');
        return message;
      } catch (error) {
        const isLost = error instanceof BusError && error.reason === 'timeout';
        if (!isLost || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** In order; the next ones are under way meanwhile. */
  async function* messages(manifest: Manifest): AsyncGenerator<Uint8Array> {
    const asked: Promise<Uint8Array>[] = [];
    for (let index = 0, next = 0; index < manifest.parts; index++) {
      for (; next < manifest.parts && next - index < AHEAD; next++) {
        const answer = part(manifest, next);
        // It is looked at later; until then its failure is nobody's.
        answer.catch(() => {});
        asked.push(answer);
      }
      yield (await asked.shift())!;
    }
  }

  async function* contentOf(manifest: Manifest): AsyncGenerator<Uint8Array> {
    const key = keys().find(manifest.keyId);
    if (key === null) throw new FeedRefusedError('key');
    const hash = createHash('sha256');
    let index = 0;
    let partOctets = 0;
    for await (const message of messages(manifest)) {
      const octets = Math.min(LIMITS.feedSnapshotPart, manifest.octets - index * LIMITS.feedSnapshotPart);
      const plain = openPart(message, { id: manifest.id, index }, key, octets);
      partOctets += message.length;
      index++;
      hash.update(plain);
      yield plain;
    }
    const isWhole = Buffer.compare(hash.digest(), manifest.sha256) === 0;
    if (!isWhole || partOctets !== manifest.partOctets) throw new FeedRefusedError('content');
  }

  return {
    async find(kind) {
      const found = await Promise.all(SLOTS.map((slot) => open(kind, slot)));
      return found.filter((each) => each !== null).toSorted((a, b) => b.manifest.at - a.manifest.at);
    },
    async download(manifest, signal) {
      const draft = await files.create(manifest.kind);
      try {
        for await (const plain of contentOf(manifest)) {
          signal?.throwIfAborted();
          await draft.write(plain);
        }
        return await draft.finish();
      } catch (error) {
        await draft.discard();
        if (error instanceof FeedRefusedError) onRefused?.(error.reason);
        throw error;
      }
    },
  };
}
