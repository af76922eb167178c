/** The provider client of a process that calls providers itself. */
import type { Config } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import { type OpenProviders, openProviders } from '../edge/services/providers/open.ts';
import type { Metrics } from '../telemetry/metrics.ts';

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
