/** Snapshots at a node: a source whose snapshots are files, and the files that control keeps for its nodes. */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { FILE_FORMAT } from '../../edge/lmdb/file-format.ts';
import { GEOIP_FILE } from '../../edge/services/geoip/files.ts';
import { mapFile } from '../../edge/services/stock/map-file.ts';
import type { FeedKeyRing } from '../../feed/batch/feed-key.ts';
import type { FeedRefusal } from '../../feed/batch/refusal.ts';
import type { FeedVerifier } from '../../feed/batch/signature.ts';
import type { Bus } from '../../feed/bus/bus.ts';
import type { ChangeSource, ViewSource } from '../../feed/change-source.ts';
import { changedAt, diskFiles, installFile } from '../../feed/snapshots/disk-files.ts';
import { type SharedFile, startTakingFiles } from '../../feed/snapshots/shared-files.ts';
import { createSnapshotReader } from '../../feed/snapshots/snapshot-reader.ts';
import { snapshotSource } from '../../feed/snapshots/snapshot-source.ts';
import { createReportLimits } from '../../lifecycle/report-limits.ts';
import type { Log } from '../../telemetry/log.ts';

export interface EdgeSnapshotsOptions {
  readonly source: ChangeSource;
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  readonly keys: () => FeedKeyRing;
  /** Resolves when there are keys. */
  readonly ready: Promise<void>;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly onRefused: (reason: FeedRefusal) => void;
}

export interface EdgeSnapshots {
  readonly source: ViewSource;
  stop(): Promise<void>;
}

export function openEdgeSnapshots(options: EdgeSnapshotsOptions): EdgeSnapshots {
  const { source, bus, verifier, keys, ready, dataDir, clock, log, onRefused } = options;
  const files = diskFiles(join(dataDir, 'incoming'));
  const reader = createSnapshotReader({ bus, verifier, keys, files, onRefused });
  const isDue = createReportLimits<'files'>(clock);
  const taking = startTakingFiles({
    reader,
    ready,
    files: [fileAt('geoip', join(dataDir, GEOIP_FILE)), fileAt('stock-map', mapFile(dataDir))],
    onError(error) {
      if (isDue('files')) log.event('feed.file_failing', {}, error);
    },
  });
  return {
    source: snapshotSource({
      source,
      reader,
      format: FILE_FORMAT,
      clock,
      onRefused,
      onDownloaded: ({ seq, partOctets }) => log.event('feed.downloaded', { seq, octets: partOctets }),
    }),
    stop: () => taking.stop(),
  };
}

function fileAt(kind: SharedFile['kind'], path: string): SharedFile {
  return {
    kind,
    changedAt: () => changedAt(path),
    read: () => createReadStream(path),
    replace: (from, at) => installFile(from, path, at),
  };
}
