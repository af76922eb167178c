/** What an edge sends to control: counts and rows, questions for provider data, and how it is. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { createReportLimits } from '../../base/lifecycle/report-limits.ts';
import type { Bus } from '../../feed/bus/bus.ts';
import type { NodeKeyring } from '../../feed/keys/node-keys.ts';
import type { Rpc } from '../../feed/message/rpc.ts';
import { busQueryLogSink, busUsageSink } from '../../feed/nodes/meter.ts';
import { type NodeState, startStateReports } from '../../feed/nodes/node-states.ts';
import { providerAsks } from '../../feed/nodes/provider-asks.ts';
import type { Config } from '../../ops/config/config.ts';
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
  readonly config: Pick<Config, 'dataDir'>;
  readonly bus: Bus;
  readonly rpc: Rpc;
  readonly keyring: Pick<NodeKeyring, 'onKeys'>;
  readonly heartbeatSeconds: () => number | null;
  /** Null before the edge has opened its view. */
  readonly report: () => EdgeReport | null;
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
  const { config, bus, rpc, keyring, clock, log } = options;
  const boot = randomBytes(BOOT_OCTETS).toString('hex');
  const version = programVersion();
  const isDue = createReportLimits<'exchange'>(clock);
  const stopReports = startStateReports({
    bus,
    rpc,
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
    accounting: { usage: busUsageSink(rpc), queryLog: busQueryLogSink(rpc) },
    providers: await openRemoteProviders({ ask: providerAsks(rpc), clock, dataDir: config.dataDir }),
    stop: stopReports,
  };
}
