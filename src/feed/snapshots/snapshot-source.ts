/** A source of changes whose snapshots are files, where one fits; else pages of control. */
import type { Clock } from '../../base/clock.ts';
import { BusError } from '../bus/bus.ts';
import type { ChangeSource, LogBounds, SnapshotFile, ViewSource } from '../ports/change-source.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import { type FileFormat, idText, isSameFormat, type Manifest } from './manifest.ts';
import type { FoundSnapshot, SnapshotReader } from './snapshot-reader.ts';

interface SnapshotSourceOptions {
  readonly source: ChangeSource;
  readonly reader: SnapshotReader;
  /** Of the views that this process reads. */
  readonly format: FileFormat;
  readonly clock: Clock;
  readonly onRefused?: (reason: FeedRefusal) => void;
  /** A snapshot was downloaded. */
  readonly onDownloaded?: (manifest: Manifest) => void;
}

/** A node whose view cannot be finished, because control is away or its disk is full, does not download the same file each second. */
const BETWEEN_MS = 60_000;

export function snapshotSource(options: SnapshotSourceOptions): ViewSource {
  const { source, reader, format, clock, onRefused, onDownloaded } = options;
  /** Snapshots that the view refused. */
  const refused = new Set<string>();
  let givenAt: number | null = null;

  function unfit(manifest: Manifest, { epoch, oldest, head }: LogBounds): FeedRefusal | null {
    if (manifest.epoch !== epoch) return 'epoch';
    if (!isSameFormat(manifest.format, format)) return 'unfit';
    return manifest.seq < oldest - 1 || manifest.seq > head ? 'position' : null;
  }

  async function download(manifest: Manifest, signal?: AbortSignal): Promise<SnapshotFile | null> {
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

  async function fromFile(signal?: AbortSignal): Promise<SnapshotFile | null> {
    const now = clock();
    if (givenAt !== null && Math.abs(now - givenAt) < BETWEEN_MS) return null;
    const bounds = await source.bounds();
    for (const { manifest } of await find()) {
      if (refused.has(idText(manifest.id))) continue;
      const reason = unfit(manifest, bounds);
      if (reason !== null) onRefused?.(reason);
      const file = reason === null ? await download(manifest, signal) : null;
      if (file === null) continue;
      givenAt = now;
      return file;
    }
    return null;
  }

  return { ...source, openSnapshot: async (signal) => (await fromFile(signal)) ?? source.openSnapshot() };
}
