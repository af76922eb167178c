import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { Store } from '../../store/store.ts';
import { deleteOldDeliveries } from '../../store/webhooks/deliveries.ts';
import { webhookIds } from '../../store/webhooks/webhooks.ts';

const DAY = 86_400_000;
/** Between two passes over all webhooks. */
const EVERY_MS = 600_000;
/** Webhooks looked up at a time, and deliveries deleted in one unit of work. */
const PAGE = 100;
const BATCH = 500;

interface HistoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told of a pass that failed; the next one tries again. */
  readonly onError?: (error: unknown) => void;
}

/** Forgets deliveries after their days (`LIMITS.webhookHistoryDays`) until aborted. Resolves when it has stopped; never rejects. */
export async function startHistory({ store, clock, signal, onError }: HistoryOptions): Promise<void> {
  while (!signal.aborted) {
    try {
      await forgetOld(store, clock() - LIMITS.webhookHistoryDays * DAY, signal);
    } catch (error) {
      if (!signal.aborted) onError?.(error);
    }
    await sleep(EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

/** Deletes the deliveries that ended and were made before `before`, in units small enough that writers do not notice. */
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
