import type { Store, Tx } from '../../../store/store.ts';
import { storeLoop } from '../../../store/store-loop.ts';
import { deleteSomeDeliveries, endWaiting } from '../../../store/webhooks/deliveries.ts';
import {
  type CleanupTask,
  deleteWebhookRow,
  holdForCleanup,
  setCleanup,
  webhooksToClean,
} from '../../../store/webhooks/webhooks.ts';

/** Deliveries ended or deleted in one unit of work. More would make other writers wait longer. */
const BATCH = 500;
const PAGE = 100;
/** Milliseconds between two searches while units commit. */
const EVERY_MS = 2000;

export interface CleanupOptions {
  readonly store: Store;
  readonly signal: AbortSignal;
  /** Called for the first failure in a row. */
  readonly onError: (error: unknown) => void;
}

/** Finishes deletions and pauses of webhooks until aborted. Their rows hold the progress, so any process can go on. */
export function startCleanup({ store, signal, onError }: CleanupOptions): Promise<void> {
  return storeLoop({
    store,
    signal,
    busyMs: EVERY_MS,
    pass: async () => {
      await cleanUp(store, signal);
      return null;
    },
    onError: (error, failures) => {
      if (failures === 1) onError(error);
    },
  });
}

export async function cleanUp(store: Store, signal: AbortSignal): Promise<void> {
  for (let after = ''; !signal.aborted; ) {
    const found = await webhooksToClean(store.read, after, PAGE);
    for (const { id, cleanup } of found) {
      let isDone = false;
      while (!isDone && !signal.aborted) isDone = await store.write((tx) => STEPS[cleanup](tx, id));
    }
    const last = found.at(-1);
    if (last === undefined || found.length < PAGE) return;
    after = last.id;
  }
}

/** One unit of each task. @returns whether nothing is left */
const STEPS: Readonly<Record<CleanupTask, (tx: Tx, id: string) => Promise<boolean>>> = {
  async delete(tx, id) {
    if (!(await holdForCleanup(tx, id, 'delete'))) return true;
    if ((await deleteSomeDeliveries(tx, id, BATCH)) === BATCH) return false;
    await deleteWebhookRow(tx, id);
    return true;
  },
  async end_waiting(tx, id) {
    // The owner may have enabled the webhook again, which ends its old deliveries.
    if (!(await holdForCleanup(tx, id, 'end_waiting'))) return true;
    if ((await endWaiting(tx, id, [], BATCH)) === BATCH) return false;
    await setCleanup(tx, id, null);
    return true;
  },
};
