/** The commands of an operator that a control process carries out: `uqrp feed erase` and `uqrp feed epoch new`. */
import { randomBytes } from 'node:crypto';
import type { Store } from '../../control/store/store.ts';
import { renewEpoch } from '../../control/store/tables/service-facts.ts';
import type { Clock } from '../../core/clock.ts';
import type { Bus } from '../../feed/bus/bus.ts';
import { startCommands } from '../../feed/exchange/commands.ts';
import { type ControlIdentity, statusEnd } from '../../feed/exchange/control-identity.ts';
import type { KeyService } from '../../feed/keys/key-service.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { reportRefusals } from '../refusal-reports.ts';

export interface ControlCommandsOptions {
  readonly identity: ControlIdentity;
  readonly bus: Bus;
  readonly store: Store;
  readonly keys: Pick<KeyService, 'renew'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'feed'>;
}

/** @returns ends it */
export function openControlCommands(options: ControlCommandsOptions): () => void {
  const { identity, bus, store, keys, clock, log, metrics } = options;
  return startCommands({
    end: statusEnd(identity, {
      bus,
      clock,
      random: randomBytes,
      onRefused: reportRefusals(log, metrics.feed, clock),
      onError: (error) => log.event('feed.publisher_failing', { reason: 'failed' }, error),
    }),
    renewKeys: () => keys.renew(),
    renewEpoch: () => store.write((tx) => renewEpoch(tx, clock())),
  });
}
