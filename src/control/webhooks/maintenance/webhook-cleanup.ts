import { loop } from '../../../lifecycle/loop.ts';
import { createWaker } from '../../../lifecycle/waker.ts';
import type { Store, Tx } from '../../store/store.ts';
import { deleteSomeDeliveries, endWaiting } from '../../store/webhooks/deliveries.ts';
import {
  type CleanupTask,
  deleteWebhookRow,
  holdForCleanup,
  setCleanup,
  webhooksToClean,
} from '../../store/webhooks/webhooks.ts';

/** Deliveries ended or deleted in one unit of work: other writers wait no longer than for these. */
const BATCH = 500;
/** Webhooks looked up at a time. */
const PAGE = 100;
/** Milliseconds between two looks for work. */
const EVERY_MS = 2000;

export interface CleanupOptions {
  readonly store: Store;
  readonly signal: AbortSignal;
  /** Told of the first of several failures in a row; the work is tried again. */
  readonly onError: (error: unknown) => void;
}

/**
 * Finishes the deletion and the pausing of webhooks until aborted. What is left to do is in their rows, so a process that
 * ends in the middle leaves the rest to the next one. Resolves when it has stopped; never rejects.
 */
export function startCleanup({ store, signal, onError }: CleanupOptions): Promise<void> {
  return loop({
    signal,
    waker: createWaker(signal),
    pass: async () => {
      await cleanUp(store, signal);
      return EVERY_MS;
    },
    onError: (error, failures) => {
      if (failures === 1) onError(error);
    },
  });
}

/** One pass over all webhooks that have something left to do. */
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
    // The owner may have enabled it again, which ends what waited before.
    if (!(await holdForCleanup(tx, id, 'end_waiting'))) return true;
    if ((await endWaiting(tx, id, [], BATCH)) === BATCH) return false;
    await setCleanup(tx, id, null);
    return true;
  },
};
