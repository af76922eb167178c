import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LOOK_MS, type ReadSecrets, type SecretsReading } from './keys.ts';

export interface FirstSecretsOptions {
  readonly read: ReadSecrets;
  /** Called once, when the source has no secrets: nothing can be served yet. */
  readonly onWaiting: (error: unknown) => void;
  /** Ends the wait, within seconds. */
  readonly cancel: AbortSignal;
  readonly timers?: Timers;
}

/**
 * The secrets that a node starts with. Without any it retries every second, without a limit.
 * @throws the signal's reason when cancelled
 */
export async function firstSecrets(options: FirstSecretsOptions): Promise<SecretsReading> {
  const { read, onWaiting, cancel, timers = realTimers } = options;
  for (let attempt = 1; ; attempt++) {
    cancel.throwIfAborted();
    try {
      return await read();
    } catch (error) {
      if (attempt === 1) onWaiting(error);
    }
    await new Promise<void>((resolve) => timers.after(LOOK_MS, resolve));
  }
}
