import type { Clock } from '../../base/clock.ts';
import type { SecretEncryption } from '../../base/secret-encryption.ts';
import type { Mailer } from '../../outbound/mailer.ts';
import type { Store } from '../../store/store.ts';
import type { DispatchObserver } from './dispatch/delivery-worker.ts';
import { startDispatcher } from './dispatch/dispatcher.ts';
import type { EnqueuedCounts } from './fan-out/delivery-batch.ts';
import { startFanOut } from './fan-out/fan-out.ts';
import { type NoticeResult, startNotices } from './maintenance/disabled-notices.ts';
import { startHistory } from './maintenance/history-expiry.ts';
import { startCleanup } from './maintenance/webhook-cleanup.ts';
import type { SendAttempt } from './ports.ts';

export interface WebhookLoops {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly random: () => number;
  readonly encryption: SecretEncryption;
  readonly sendAttempt: SendAttempt;
  readonly schedule: readonly number[];
  /** Null: owners of disabled webhooks get no mail. */
  readonly mailer: Mailer | null;
  readonly signal: AbortSignal;
  readonly observe: DispatchObserver & { enqueued(counts: EnqueuedCounts): void };
  readonly onNotice: (result: NoticeResult) => void;
  readonly onFault: (loop: 'fanout' | 'dispatcher', error: unknown) => void;
}

/** Runs every background loop of webhooks until aborted. Resolves when all have stopped and open attempts are settled. */
export async function runWebhookLoops(options: WebhookLoops): Promise<void> {
  const { store, clock, newId, signal, schedule, observe, onFault } = options;
  const onError = (error: unknown): void => onFault('dispatcher', error);
  const dispatcher = startDispatcher({ ...options, onError });
  await Promise.all([
    dispatcher.stopped,
    startFanOut({
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
