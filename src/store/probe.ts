import { every } from '../base/lifecycle/loop.ts';
import { type Timers, wholeSecondTimers } from '../base/lifecycle/timers.ts';
import type { Store } from './store.ts';

/** Milliseconds. A ping that takes longer has failed. */
export const PING_LIMIT_MS = 1_200;
const PING_EVERY_MS = 1_000;
/** After a ping that failed. */
const RETRY_MS = 500;
/** Failures in a row after which the store is down: at the latest 3.9 seconds after it was lost. One success brings it back. */
const FAILURES = 2;

export interface StoreProbe {
  isUp(): boolean;
  stop(): Promise<void>;
}

/** Asks the store again and again whether it is there. It is taken for up at first: it was just opened. */
export function startStoreProbe(
  store: Pick<Store, 'ping'>,
  onChange: (isUp: boolean, error?: unknown) => void,
  timers: Timers = wholeSecondTimers,
): StoreProbe {
  let failures = 0;
  const pinging = every({
    ms: () => (failures === 0 ? PING_EVERY_MS : RETRY_MS),
    timers,
    async task() {
      await store.ping();
      const wasUp = failures < FAILURES;
      failures = 0;
      if (!wasUp) onChange(true);
    },
    onError(error) {
      failures++;
      if (failures === FAILURES) onChange(false, error);
    },
  });
  return { isUp: () => failures < FAILURES, stop: () => pinging.stop() };
}
