/** Finds snapshots at the broker, and downloads one. Nothing of a broker is believed: everything is checked before it is used. */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { type Bus, BusError, untilAnswered } from '../bus/bus.ts';
import type { FeedKeyRing, FeedVerifier } from '../message/keys.ts';
import type { ChangeSource, LogBounds, SnapshotFile, ViewSource } from '../ports/change-source.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import {
  type FileFormat,
  idText,
  isSameFormat,
  manifestName,
  openManifest,
  openPart,
  partName,
  SLOTS,
  type Slot,
  type SnapshotKind,
  type SnapshotManifest,
} from './manifest.ts';

/** Where a node puts what it downloads. Over the disk, and in memory for tests. */
export interface SnapshotFiles {
  /** A new file of the kind in place of an earlier one that was not taken. */
  create(kind: SnapshotKind): Promise<FileDraft>;
}

/** A file that is being written; nobody reads it. Calls reject with an error whose `code` is ENOSPC when the disk is full. */
interface FileDraft {
  write(part: Uint8Array): Promise<void>;
  /** @returns the path of the whole file, which belongs to the caller */
  finish(): Promise<string>;
  discard(): Promise<void>;
}

interface SnapshotReaderOptions {
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  readonly keys: () => FeedKeyRing;
  readonly files: SnapshotFiles;
  /** A manifest or a snapshot that was not used. */
  readonly onRefused?: (reason: FeedRefusal) => void;
}

export interface FoundSnapshot {
  readonly manifest: SnapshotManifest;
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
  download(manifest: SnapshotManifest, signal?: AbortSignal): Promise<string>;
}

/** Parts that are asked for at once: some megabytes of memory. */
const AHEAD = 4;

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

  async function part(manifest: SnapshotManifest, index: number): Promise<Uint8Array> {
    const message = await untilAnswered(() => bus.getChunk(partName(manifest, index)));
    if (message === null) throw new FeedRefusedError('missing');
    return message;
  }

  /** In order; the next ones are under way meanwhile. */
  async function* messages(manifest: SnapshotManifest): AsyncGenerator<Uint8Array> {
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

  async function* contentOf(manifest: SnapshotManifest): AsyncGenerator<Uint8Array> {
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

/** A source of changes whose snapshots are files, where one fits; else pages of control. */

interface SnapshotSourceOptions {
  readonly source: ChangeSource;
  readonly reader: SnapshotReader;
  /** Of the views that this process reads. */
  readonly format: FileFormat;
  readonly clock: Clock;
  readonly onRefused?: (reason: FeedRefusal) => void;
  /** A snapshot was downloaded. */
  readonly onDownloaded?: (manifest: SnapshotManifest) => void;
}

/** A node whose view cannot be finished, because control is away or its disk is full, does not download the same file each second. */
const BETWEEN_MS = 60_000;

export function snapshotSource(options: SnapshotSourceOptions): ViewSource {
  const { source, reader, format, clock, onRefused, onDownloaded } = options;
  /** Snapshots that the view refused. */
  const refused = new Set<string>();
  let givenAt: number | null = null;

  function unfit(manifest: SnapshotManifest, { epoch, oldest, head }: LogBounds): FeedRefusal | null {
    if (manifest.epoch !== epoch) return 'epoch';
    if (!isSameFormat(manifest.format, format)) return 'unfit';
    return manifest.seq < oldest - 1 || manifest.seq > head ? 'position' : null;
  }

  async function download(manifest: SnapshotManifest, signal?: AbortSignal): Promise<SnapshotFile | null> {
    try {
      const file = await reader.download(manifest, signal);
      onDownloaded?.(manifest);
      const id = idText(manifest.id);
      return {
        epoch: manifest.epoch,
        seq: manifest.seq,
        file,
        refuse() {
          onRefused?.('content');
          refused.add(id);
          givenAt = null;
        },
      };
    } catch (error) {
      if (error instanceof FeedRefusedError || error instanceof BusError) return null;
      givenAt = clock();
      throw error;
    }
  }

  async function find(): Promise<readonly FoundSnapshot[]> {
    try {
      return await reader.find('view');
    } catch (error) {
      if (error instanceof BusError) return [];
      throw error;
    }
  }

  /** Asks for the manifests before each download: while a long one ran, control may have made newer snapshots and deleted its parts. */
  async function fromFile(signal?: AbortSignal): Promise<SnapshotFile | null> {
    const now = clock();
    if (givenAt !== null && Math.abs(now - givenAt) < BETWEEN_MS) return null;
    const tried = new Set(refused);
    for (;;) {
      const bounds = await source.bounds();
      const next = (await find()).find(({ manifest }) => !tried.has(idText(manifest.id)));
      if (next === undefined) return null;
      const { manifest } = next;
      tried.add(idText(manifest.id));
      const reason = unfit(manifest, bounds);
      if (reason !== null) onRefused?.(reason);
      const file = reason === null ? await download(manifest, signal) : null;
      if (file === null) continue;
      givenAt = clock();
      return file;
    }
  }

  return { ...source, openSnapshot: async (signal) => (await fromFile(signal)) ?? source.openSnapshot() };
}
