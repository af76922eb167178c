import { createWaker, loop } from '../../base/lifecycle/loop.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store, Tx } from '../../store/store.ts';
import { storeLoop } from '../../store/store-loop.ts';
import { deleteOldDeliveries, deleteSomeDeliveries, endWaiting } from '../../store/webhooks/deliveries.ts';
import {
  type CleanupTask,
  deleteWebhookRow,
  holdForCleanup,
  setCleanup,
  webhookIds,
  webhooksToClean,
} from '../../store/webhooks/webhooks.ts';
import type { EnqueuedCounts } from './delivery-batch.ts';
import { type DispatcherOptions, type DispatchObserver, startDispatcher } from './dispatcher.ts';
import { startFanOut } from './fan-out.ts';
import { type NoticesOptions, startNotices } from './notices.ts';

const DAY = 86_400_000;
/** Milliseconds between two passes over all webhooks. */
const EVERY_MS = 600_000;
/** Webhooks of one search. */
const PAGE = 100;
/** Deliveries ended or deleted in one unit of work. More would make other writers wait longer. */
const BATCH = 500;

type LoopOptions = Pick<NoticesOptions, 'store' | 'clock' | 'signal' | 'timers' | 'onError'>;

/** Deletes deliveries older than `LIMITS.webhookHistoryDays` until aborted. Never rejects. */
function startHistory({ store, clock, signal, timers, onError }: LoopOptions): Promise<void> {
  return loop({
    signal,
    waker: createWaker(signal, timers),
    pass: async () => {
      await forgetOld(store, clock() - LIMITS.webhookHistoryDays * DAY, signal);
      return EVERY_MS;
    },
    backoff: { firstMs: EVERY_MS, capMs: EVERY_MS },
    onError,
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

/** Milliseconds between two searches while units commit. */
const CLEANUP_MS = 2000;

/** Finishes deletions and pauses of webhooks until aborted. Their rows hold the progress, so any process can go on. */
function startCleanup({ store, signal, timers, onError }: LoopOptions): Promise<void> {
  return storeLoop({
    store,
    signal,
    timers,
    busyMs: CLEANUP_MS,
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

interface WebhookLoops extends Omit<DispatcherOptions, 'onError'>, Omit<NoticesOptions, 'onError'> {
  readonly observe: DispatchObserver & { enqueued(counts: EnqueuedCounts): void };
  readonly onFault: (loop: 'fanout' | 'dispatcher' | 'notices', error: unknown) => void;
}

/** Runs every background loop of webhooks until aborted. Resolves when all have stopped and open attempts are settled. */
export async function runWebhookLoops(options: WebhookLoops): Promise<void> {
  const { store, clock, newId, signal, timers, schedule, observe, onFault } = options;
  const onError = (error: unknown): void => onFault('dispatcher', error);
  const dispatcher = startDispatcher({ ...options, onError });
  await Promise.all([
    dispatcher.stopped,
    startFanOut({
      store,
      clock,
      newId,
      signal,
      timers,
      wake: () => dispatcher.wake(),
      firstDelayMs: (schedule[0] ?? 0) * 1000,
      onEnqueued: (counts) => observe.enqueued(counts),
      onError: (error) => onFault('fanout', error),
    }),
    startNotices({ ...options, onError: (error) => onFault('notices', error) }),
    startHistory({ store, clock, signal, timers, onError }),
    startCleanup({ store, clock, signal, timers, onError }),
  ]);
}
