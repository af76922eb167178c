/** What an edge sends to control: counts and rows, questions for provider data, and how it is. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { createReportLimits } from '../../base/lifecycle/report-limits.ts';
import type { Bus } from '../../feed/bus/bus.ts';
import type { NkeyKeys } from '../../feed/bus/nats/nkey.ts';
import type { NodeKeyring } from '../../feed/keys/node-keyring.ts';
import type { FeedVerifier } from '../../feed/message/message.ts';
import { busQueryLogSink, busUsageSink } from '../../feed/nodes/meter.ts';
import { type NodeState, startStateReports } from '../../feed/nodes/node-states.ts';
import { providerAsks } from '../../feed/nodes/provider-asks.ts';
import type { FeedRefusal } from '../../feed/ports/refusal.ts';
import { createExchange } from '../../feed/rpc/rpc.ts';
import type { Config } from '../../ops/config/config.ts';
import type { FeedSettings } from '../../ops/config/feed-settings.ts';
import { programVersion } from '../../ops/config/version.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import { type OpenProviders, openRemoteProviders } from '../../services/providers/open.ts';
import type { AccountingSinks } from '../edge-upstream.ts';

/** What the edge role knows of itself. */
export type EdgeReport = Pick<
  NodeState,
  'seq' | 'epoch' | 'lag' | 'stale' | 'keyTags' | 'viewSeconds' | 'spoolOctets'
>;

export interface EdgeExchangeOptions {
  readonly feed: Extract<FeedSettings, { readonly end: 'node' }>;
  readonly config: Pick<Config, 'dataDir'>;
  readonly bus: Bus;
  readonly nkey: NkeyKeys;
  readonly keyring: Pick<NodeKeyring, 'present' | 'ring' | 'onKeys'>;
  readonly verifier: FeedVerifier;
  readonly heartbeatSeconds: () => number | null;
  /** Null before the edge has opened its view. */
  readonly report: () => EdgeReport | null;
  readonly onRefused: (reason: FeedRefusal) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface EdgeExchange {
  readonly accounting: AccountingSinks;
  readonly providers: OpenProviders;
  stop(): Promise<void>;
}

const BOOT_OCTETS = 8;
const NOTHING: EdgeReport = {
  seq: 0,
  epoch: null,
  lag: { changes: 0, seconds: 0 },
  stale: true,
  keyTags: {},
  viewSeconds: null,
  spoolOctets: 0,
};

export async function openEdgeExchange(options: EdgeExchangeOptions): Promise<EdgeExchange> {
  const { feed, config, bus, nkey, keyring, verifier, clock, log, onRefused } = options;
  const exchange = createExchange({
    bus,
    name: feed.credentials.name,
    signer: nkey.signer,
    verifier,
    presentKey: () => keyring.present(),
    ring: () => keyring.ring(),
    random: randomBytes,
    clock,
    onRefused,
  });
  const boot = randomBytes(BOOT_OCTETS).toString('hex');
  const version = programVersion();
  const isDue = createReportLimits<'exchange'>(clock);
  const stopReports = startStateReports({
    bus,
    exchange,
    state: () => ({
      boot,
      version,
      heartbeatSeconds: options.heartbeatSeconds(),
      ...(options.report() ?? NOTHING),
    }),
    onKeys: (listener) => keyring.onKeys(listener),
    onError: (error) => {
      if (isDue('exchange')) log.event('feed.exchange_failing', {}, error);
    },
  });
  return {
    accounting: { usage: busUsageSink(exchange), queryLog: busQueryLogSink(exchange) },
    providers: await openRemoteProviders({ ask: providerAsks(exchange), clock, dataDir: config.dataDir }),
    stop: stopReports,
  };
}
