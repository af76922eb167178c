/** The secrets of a node: read before the workers start, watched while they run. */

import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { NodeKeys } from '../../feed/ports/node-keys.ts';
import type { Config } from '../../ops/config/config.ts';
import type { Log } from '../../ops/telemetry/log.ts';
import {
  type AnsweredKeys,
  firstSecrets,
  type LiveSecrets,
  readSecrets,
  watchAnsweredKeys,
  watchSecrets,
} from '../node/keys.ts';
import type { LiveSettings } from '../node/settings.ts';

export interface EdgeKeysOptions {
  readonly config: Pick<Config, 'dnssec' | 'role' | 'zones'>;
  readonly nodeKeys: NodeKeys;
  /** Called while the start waits for signing keys: without them answers would be unsigned. */
  readonly onKeysMissing: (isMissing: boolean) => void;
  /** Ends that wait. */
  readonly cancel: AbortSignal;
  readonly log: Log;
  readonly timers?: Timers | undefined;
}

export interface EdgeKeys {
  readonly first: LiveSecrets;
  /** Those that are in use. */
  tickets(): LiveSecrets['tickets'];
  /** For control. */
  report: AnsweredKeys['report'];
  /** Hands over what changed and nothing else: workers that get keys drop every cached answer and signature. */
  watch(use: (changed: Partial<Pick<LiveSettings, 'keys' | 'cookies'>>) => Promise<unknown>): {
    stop(): Promise<void> | void;
  };
}

/** Waits, on an edge, until its source has keys. In a process with control they exist, or the start fails. */
export async function openKeys(options: EdgeKeysOptions): Promise<EdgeKeys> {
  const { config, nodeKeys, log, onKeysMissing, cancel, timers } = options;
  const zones = config.dnssec === 'off' ? [] : config.zones;
  const read = readSecrets(nodeKeys, zones);
  const onWaiting = (error: unknown): void => {
    onKeysMissing(true);
    log.event('keys.waiting', {}, error);
  };
  const first =
    config.role === 'edge' ? await firstSecrets({ read, onWaiting, cancel, timers }) : await read();
  onKeysMissing(false);
  let { tickets } = first.secrets;
  const answered = watchAnsweredKeys(nodeKeys, (timers ?? realTimers).elapsed);
  answered.used(first.secrets.keys);
  return {
    first: first.secrets,
    tickets: () => tickets,
    report: () => answered.report(),
    watch: (use) =>
      watchSecrets({
        read,
        inUse: first.marks,
        async onKeys(keys) {
          await use({ keys });
          answered.used(keys);
          log.event('keys.loaded', { zones: keys.length });
        },
        async onPeriods(changed) {
          await use({ cookies: changed.cookies });
          tickets = changed.tickets;
        },
        onError: (error) => log.event('keys.failing', {}, error),
        timers,
      }),
  };
}
