import type { Clock } from '../../core/clock.ts';
import type { Mailer } from '../../outbound/mailer.ts';
import type { Store } from '../store/store.ts';
import type { DispatchObserver } from './dispatch/delivery-worker.ts';
import { startDispatcher } from './dispatch/dispatcher.ts';
import type { Enqueued } from './fan-out/delivery-batch.ts';
import { startFanout } from './fan-out/fan-out.ts';
import { startHistory } from './maintenance/history-expiry.ts';
import { type NoticeOutcome, startNotices } from './maintenance/notices.ts';
import { startCleanup } from './maintenance/webhook-cleanup.ts';
import type { Attempt, SecretSeal } from './ports.ts';

export interface WebhookLoops {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  readonly seal: SecretSeal;
  readonly attempt: Attempt;
  /** Seconds before each attempt, at least one number. */
  readonly schedule: readonly number[];
  /** Null: owners of disabled webhooks are not told. */
  readonly mailer: Mailer | null;
  readonly signal: AbortSignal;
  readonly observe: DispatchObserver & { enqueued(counts: Enqueued): void };
  readonly onNotice: (outcome: NoticeOutcome) => void;
  readonly onFault: (loop: 'fanout' | 'dispatcher', error: unknown) => void;
}

/** Everything that delivers, until aborted. Resolves when all of it has stopped and what was under way is settled. */
export async function runWebhooks(options: WebhookLoops): Promise<void> {
  const { store, clock, newId, signal, schedule, observe, onFault } = options;
  const onError = (error: unknown): void => onFault('dispatcher', error);
  const dispatcher = startDispatcher({ ...options, onError });
  await Promise.all([
    dispatcher.stopped,
    startFanout({
      store,
      clock,
      newId,
      signal,
      wake: () => dispatcher.wake(),
      firstDelayMs: (schedule[0] ?? 0) * 1000,
      onEnqueued: (counts) => observe.enqueued(counts),
      onError: (error) => onFault('fanout', error),
    }),
    startNotices({ ...options, onError }),
    startHistory({ store, clock, signal, onError }),
    startCleanup({ store, signal, onError }),
  ]);
}
