/** Snapshots on the control side: the child process that makes them, and who may ask for one. */
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { GEOIP_FILE } from '../../edge/services/geoip/files.ts';
import { mapFile } from '../../edge/services/stock/map-file.ts';
import type { HourlyKey } from '../../feed/batch/key-message.ts';
import type { FeedSigner } from '../../feed/batch/signature.ts';
import type { Bus } from '../../feed/bus/bus.ts';
import { type FeedCredentials, printCredentials } from '../../feed/identity/credentials.ts';
import { startSnapshotChild } from '../../feed/snapshots/child-process.ts';
import { answerDemands } from '../../feed/snapshots/demand.ts';
import { closeAll } from '../../lifecycle/close-all.ts';
import { createReportLimits } from '../../lifecycle/report-limits.ts';
import type { Log } from '../../telemetry/log.ts';

export interface ControlSnapshotsOptions {
  readonly feed: { readonly credentials: FeedCredentials; readonly servers: readonly string[] };
  readonly dataDir: string;
  /** Instead of the file that `uqrp geoip update` writes. */
  readonly geoipDb: string | null;
  readonly bus: Bus;
  readonly signer: FeedSigner;
  readonly keys: () => readonly HourlyKey[];
  /** Whether this process publishes. */
  readonly isLeading: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ControlSnapshots {
  /** Seconds since the last one was made; null: this process has made none. */
  age(): number | null;
  stop(): Promise<void>;
}

export function startControlSnapshots(options: ControlSnapshotsOptions): ControlSnapshots {
  const { feed, dataDir, geoipDb, bus, signer, keys, isLeading, clock, log } = options;
  const isDue = createReportLimits<'failing'>(clock);
  const child = startSnapshotChild({
    entry: new URL('../../snapshot-process.ts', import.meta.url),
    start: {
      credentials: printCredentials(feed.credentials),
      servers: feed.servers,
      directory: join(dataDir, 'snapshots'),
      geoip: geoipDb ?? join(dataDir, GEOIP_FILE),
      stockMap: mapFile(dataDir),
    },
    keys,
    isLeading,
    onMade: ({ seq, partOctets }, seconds) =>
      log.event('feed.snapshot', { seq, octets: partOctets, seconds }),
    onFailing(error) {
      if (isDue('failing')) log.event('feed.snapshot_failing', {}, error);
    },
  });
  const demands = answerDemands({ bus, signer, isLeading, clock, make: () => child.make() });
  return {
    age() {
      const last = child.last();
      return last === null ? null : Math.max(0, clock() - last.at) / 1000;
    },
    stop: () => closeAll([() => demands.stop(), () => child.stop()]),
  };
}
