/** The secrets of a node: read before the workers start, watched while they run. */

import { realTimers } from '../../base/lifecycle/timers.ts';
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

export interface EdgeKeysOptions {
  readonly config: Config;
  readonly nodeKeys: NodeKeys;
  /** Called while the start waits for signing keys: without them answers would be unsigned. */
  readonly onKeysMissing: (isMissing: boolean) => void;
  /** Ends that wait. */
  readonly cancel: AbortSignal;
  readonly log: Log;
}

export interface EdgeKeys {
  readonly first: LiveSecrets;
  /** Those that are in use. */
  now(): LiveSecrets;
  /** For control. */
  report: AnsweredKeys['report'];
  /** Hands secrets over whenever they change. */
  watch(use: (secrets: LiveSecrets) => Promise<unknown>): { stop(): Promise<void> | void };
}

/** Waits, on an edge, until its source has keys. In a process with control they exist, or the start fails. */
export async function openKeys(options: EdgeKeysOptions): Promise<EdgeKeys> {
  const { config, nodeKeys, log, onKeysMissing, cancel } = options;
  const zones = config.dnssec === 'off' ? [] : config.zones;
  const read = readSecrets(nodeKeys, zones);
  const onWaiting = (error: unknown): void => {
    onKeysMissing(true);
    log.event('keys.waiting', {}, error);
  };
  const first = config.role === 'edge' ? await firstSecrets({ read, onWaiting, cancel }) : await read();
  onKeysMissing(false);
  let inUse = first.secrets;
  const answered = watchAnsweredKeys(nodeKeys, realTimers.elapsed);
  answered.used(inUse.keys);
  return {
    first: first.secrets,
    now: () => inUse,
    report: () => answered.report(),
    watch: (use) =>
      watchSecrets({
        read,
        inUse: first.mark,
        async onChanged(secrets) {
          await use(secrets);
          inUse = secrets;
          answered.used(secrets.keys);
          log.event('keys.loaded', { zones: secrets.keys.length });
        },
        onError: (error) => log.event('keys.failing', {}, error),
      }),
  };
}
