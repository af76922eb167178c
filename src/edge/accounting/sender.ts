import type { Backoff } from '../../lifecycle/backoff.ts';
import { loop } from '../../lifecycle/loop.ts';
import type { Timers } from '../../lifecycle/timers.ts';
import { createWaker } from '../../lifecycle/waker.ts';

export interface Outbox<Batch> {
  /** The same batch until it is settled. */
  next(): Batch | null;
  settle(): void;
}

export interface SenderOptions<Batch> {
  readonly outbox: Outbox<Batch>;
  readonly send: (batch: Batch) => Promise<void>;
  /** Whether the batch will be refused however often it is sent. */
  readonly isRefused: (error: unknown) => boolean;
  /** Called with a batch that was given up. Must not throw. */
  readonly onRefused: (batch: Batch) => void;
  /** Batches sent in one pass. */
  readonly batchesAPass: number;
  /** A batch was given up, or the first of several attempts failed. Must not throw. */
  readonly onFailing: (error: unknown) => void;
  readonly timers: Timers;
}

export interface Sender {
  /** There may be something to send. */
  wake(): void;
  /** Ends the waiting, sends what is left once, and resolves: after `limitMs` also with an attempt under way. */
  finish(limitMs: number): Promise<void>;
}

/** Milliseconds from the end of one pass to the next: a sink takes at most one unit of work a second. */
const PAUSE_MS = 1000;
const BACKOFF: Backoff = { firstMs: 1000, capMs: 3_000 };
/** Longer than any wake-up takes to come. */
const IDLE_MS = 60_000;

/** Sends what is in the outbox, at least once and in order. After a failure it retries with exponential backoff. */
export function startSender<Batch>(options: SenderOptions<Batch>): Sender {
  const { outbox, send, isRefused, onRefused, batchesAPass, onFailing, timers } = options;
  const ending = new AbortController();
  const waker = createWaker(ending.signal, timers);

  async function pass(): Promise<void> {
    for (let left = batchesAPass; left > 0; left--) {
      const batch = outbox.next();
      if (batch === null) return;
      try {
        await send(batch);
      } catch (error) {
        if (!isRefused(error)) throw error;
        onFailing(error);
        onRefused(batch);
      }
      outbox.settle();
    }
  }

  const running = loop({
    signal: ending.signal,
    waker,
    backoff: BACKOFF,
    async pass() {
      if (outbox.next() === null) return IDLE_MS;
      await pass();
      await waker.sleep(PAUSE_MS);
      return outbox.next() === null ? IDLE_MS : 0;
    },
    onError(error, failures) {
      if (failures === 1) onFailing(error);
    },
  });

  return {
    wake: () => waker.wake(),
    async finish(limitMs) {
      ending.abort();
      const late = Promise.withResolvers<void>();
      const cancel = timers.after(limitMs, late.resolve);
      // A pass under way may hold a batch: two must not send at once.
      const last = running.then(pass).catch(onFailing);
      await Promise.race([last, late.promise]);
      cancel();
    },
  };
}
