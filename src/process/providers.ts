/** The provider client of a process that calls providers itself. */

import type { Clock } from '../base/time.ts';
import type { Config } from '../ops/config/config.ts';
import type { Metrics } from '../ops/telemetry/metrics.ts';
import { type OpenProviders, openProviders } from '../services/providers/open.ts';

export interface CallingProvidersOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'providerCalled'>;
}

export function openCallingProviders({
  config,
  clock,
  metrics,
}: CallingProvidersOptions): Promise<OpenProviders> {
  return openProviders({
    endpoints: config.providers,
    ownBases: config.providers.own,
    resolvers: config.resolvers,
    agent: `uqrp (+https://${config.zones[0]}/)`,
    dataDir: config.dataDir,
    clock,
    onCall: metrics.providerCalled,
  });
}
