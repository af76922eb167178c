import type { Clock } from '../../../base/clock.ts';
import { loop } from '../../../base/lifecycle/loop.ts';
import { createWaker } from '../../../base/lifecycle/waker.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { Store } from '../../../store/store.ts';
import { deleteOldDeliveries } from '../../../store/webhooks/deliveries.ts';
import { webhookIds } from '../../../store/webhooks/webhooks.ts';

const DAY = 86_400_000;
/** Milliseconds between two passes over all webhooks. */
const EVERY_MS = 600_000;
const PAGE = 100;
const BATCH = 500;

interface HistoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called for each failed pass. */
  readonly onError?: (error: unknown) => void;
}

/** Deletes deliveries older than `LIMITS.webhookHistoryDays` until aborted. Never rejects. */
export function startHistory({ store, clock, signal, onError }: HistoryOptions): Promise<void> {
  return loop({
    signal,
    waker: createWaker(signal),
    pass: async () => {
      await forgetOld(store, clock() - LIMITS.webhookHistoryDays * DAY, signal);
      return EVERY_MS;
    },
    backoff: { firstMs: EVERY_MS, capMs: EVERY_MS },
    onError: (error) => onError?.(error),
  });
}

/** Deletes ended deliveries created before `before`, in small units of work, so that other writers do not wait. */
export async function forgetOld(store: Store, before: number, signal: AbortSignal): Promise<void> {
  for (let after = ''; !signal.aborted; ) {
    const ids = await webhookIds(store.read, after, PAGE);
    for (const id of ids) {
      for (let deleted = BATCH; deleted === BATCH && !signal.aborted; ) {
        deleted = await store.write((tx) => deleteOldDeliveries(tx, id, before, BATCH));
      }
    }
    const last = ids.at(-1);
    if (last === undefined || ids.length < PAGE) return;
    after = last;
  }
}
