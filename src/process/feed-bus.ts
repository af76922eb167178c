/** Opens the bus for a role. */
import { createPublicKey } from 'node:crypto';
import { createReportLimits } from '../base/lifecycle/report-limits.ts';
import type { Clock } from '../base/time.ts';
import type { Bus } from '../feed/bus/bus.ts';
import { type NkeyKeys, nkeyKeys } from '../feed/bus/nats/nkey.ts';
import type { StreamSizes } from '../feed/bus/nats/streams.ts';
import { type FeedVerifier, feedVerifier } from '../feed/message/keys.ts';
import { serversOf } from '../feed/ports/credentials.ts';
import { ConfigError } from '../ops/config/config.ts';
import type { FeedSettings } from '../ops/config/feed-settings.ts';
import type { Log } from '../ops/telemetry/log.ts';

export interface FeedBusOptions {
  readonly feed: FeedSettings;
  readonly clock: Clock;
  readonly log: Log;
}

/** Servers of a cluster that keep three copies of each message: fewer could not agree. */
const CLUSTER = 3;
const GIGABYTE = 1_073_741_824;

export interface FeedBus {
  readonly bus: Bus;
  /** What this end signs with. */
  readonly nkey: NkeyKeys;
  /** Resolves when the first attempt to connect has ended, successful or not. */
  readonly attempted: Promise<void>;
}

/** Connects in the background. Nothing of NATS is loaded before. @throws ConfigError for credentials with a damaged nkey */
export async function openFeedBus({ feed, clock, log }: FeedBusOptions): Promise<FeedBus> {
  // Before anything runs: what is started is not stopped when a later part of the start fails.
  const nkey = nkeyKeys(feed.credentials.seed);
  if (nkey === null) throw new ConfigError(['UQRP_FEED_CREDENTIALS: the file has a damaged key in "seed"']);
  const { openNatsBus } = await import('../feed/bus/nats/nats-bus.ts');
  const isDue = createReportLimits<string>(clock);
  const attempted = Promise.withResolvers<void>();
  const bus = openNatsBus({
    ...serversOf(feed.credentials),
    servers: feed.servers,
    streams: feed.end === 'control' ? streamSizes(feed.servers.length) : null,
    onError(error) {
      attempted.resolve();
      if (isDue('broker')) log.event('feed.broker_failing', {}, error);
    },
  });
  bus.onState((state) => {
    attempted.resolve();
    log.event('feed.connection', { state });
  });
  return { bus, nkey, attempted: attempted.promise };
}

function streamSizes(servers: number): StreamSizes {
  return { replicas: servers >= CLUSTER ? CLUSTER : 1, feedOctets: 2 * GIGABYTE, chunkOctets: 4 * GIGABYTE };
}

export function verifierOf({ credentials }: FeedSettings): FeedVerifier {
  return feedVerifier(credentials.verify.map((pem) => createPublicKey(pem)));
}
