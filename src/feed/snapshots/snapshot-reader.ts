/** Finds snapshots at the broker, and downloads one. Nothing of a broker is believed: everything is checked before it is used. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Bus, BusError } from '../bus/bus.ts';
import type { FeedKeyRing, FeedVerifier } from '../message/keys.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import type { SnapshotFiles } from './disk-files.ts';
import {
  type Manifest,
  manifestName,
  openManifest,
  openPart,
  partName,
  SLOTS,
  type Slot,
  type SnapshotKind,
} from './manifest.ts';

interface SnapshotReaderOptions {
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

/** Which views the broker keeps now, for the status of the feed. */

interface KeptSnapshot {
  readonly id: string;
  readonly seq: number;
  /** Since it was made. */
  readonly seconds: number;
}

/** Views at the broker whose manifests control signed, the newest first. None when the broker cannot be read. */
export async function keptSnapshots(
  bus: Bus,
  verifier: FeedVerifier,
  clock: Clock,
): Promise<readonly KeptSnapshot[]> {
  const found: KeptSnapshot[] = [];
  for (const slot of SLOTS) {
    try {
      const message = await bus.getChunk(manifestName('view', slot));
      if (message === null) continue;
      const { id, seq, at } = openManifest(message, verifier, 'view');
      found.push({ id: Buffer.from(id).toString('hex'), seq, seconds: Math.max(0, clock() - at) / 1000 });
    } catch (error) {
      if (!(error instanceof FeedRefusedError || error instanceof BusError)) throw error;
    }
  }
  return found.sort((a, b) => a.seconds - b.seconds);
}
