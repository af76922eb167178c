import { createWaker, loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { Store } from '../../store/store.ts';
import { QUIET_MS } from '../../store/store-loop.ts';
import {
  advanceCursor,
  fanOutPosition,
  hastenAll,
  nextBehind,
  rewindCursor,
} from '../../store/webhooks/fan-out.ts';
import { type EnqueuedCounts, FAN_OUT_LIMITS, type FanOutLimits } from './delivery-batch.ts';
import { DroppedCounts } from './dropped-counts.ts';
import {
  type Enqueued,
  type EnqueueRules,
  enqueue,
  enqueueTurn,
  holdCursor,
  type LogSpan,
  nextSpan,
  OtherEpochError,
  SKEW_MS,
  TARGETS_MAX,
} from './enqueue.ts';

/** Spans between two turns of customers who are behind. */
const SPANS = 20;

/**
 * Pause after each pass, milliseconds, so that a stream of commits is read in batches: with one of 1 ms, passes that find no webhook cost each
 * write 3 % of its CPU. The first write after a pause waits for none.
 */
const PAUSE_MS = 10;

/** While nothing is to be enqueued, the cursor is written after this many changes or milliseconds. */
const SAVE_EVERY = 5000;
const SAVE_MS = 1000;

export interface FanOutOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly signal: AbortSignal;
  readonly timers?: Timers | undefined;
  readonly wake: () => void;
  /** Called for the first failed pass in a row, and when the change log ends before the cursor or has another epoch. */
  readonly onError: (error: unknown) => void;
  /** Called after each unit of work that gave numbers to events. Must not throw. */
  readonly onEnqueued?: (counts: EnqueuedCounts) => void;
  /** Milliseconds from enqueueing to the first attempt. */
  readonly firstDelayMs?: number;
  readonly limits?: Partial<FanOutLimits>;
  /** Longest wait between two passes, milliseconds. Bounds the delay after a lost wake-up. */
  readonly pollMs?: number;
}

export interface FanOut {
  /**
   * Enqueues for all changes in the log.
   * @param woken true: use the position in memory, which saves a statement
   * @returns whether the cursor in the database is at the position
   */
  pass(woken: boolean): Promise<'saved' | 'unsaved'>;
}

/** The change log ends before the cursor: the database was restored from an older backup. */
class LogRewoundError extends Error {
  constructor() {
    super('the change log ends before the position of the fan-out');
    this.name = 'LogRewoundError';
  }
}

/** Enqueues deliveries for committed changes until aborted. Never rejects. Several processes may run it on one database. */
export async function startFanOut(options: FanOutOptions): Promise<void> {
  const { store, signal, timers, onError, pollMs = QUIET_MS } = options;
  const waker = createWaker(signal, timers);
  const fanOut = openFanOut(options);
  let notified = false;
  const stopListening = store.changes.onChange(() => {
    notified = true;
    waker.wake();
  });
  await loop({
    signal,
    waker,
    pass: async () => {
      const woken = notified;
      notified = false;
      const cursor = await fanOut.pass(woken);
      await waker.sleep(Math.min(PAUSE_MS, pollMs));
      return cursor === 'saved' ? pollMs : Math.min(SAVE_MS, pollMs);
    },
    onError: (error, failures) => {
      if (failures === 1) onError(error);
    },
  });
  stopListening();
}

/**
 * The fan-out without its loop. Deliveries and cursor are written in one unit of work: exactly once per event and webhook,
 * across a crash. While there is nothing to enqueue, the position in memory runs ahead of the cursor in the database.
 * A log pruned beyond the position continues at its oldest change. After a restore from a backup it continues at the cursor,
 * or at the log's end if the cursor is beyond it, and calls `onError`.
 */
export function openFanOut(options: FanOutOptions): FanOut {
  const { store, clock, signal, wake, onError, onEnqueued } = options;
  const { elapsed } = options.timers ?? realTimers;
  const rules: EnqueueRules = {
    clock,
    newId: options.newId,
    limits: { ...FAN_OUT_LIMITS, ...options.limits },
    firstDelayMs: options.firstDelayMs ?? 0,
    droppedCounts: new DroppedCounts(),
  };
  let position: number | null = null;
  /** Of the log, at the position. Another one gives the same numbers to other changes. */
  let epoch: string | null = null;
  /** The cursor in the database as last read or written, and when by the timers. */
  let saved = 0;
  let savedAt = elapsed();
  /** False: no unit of this process has seen a customer who is behind since the last one caught up. */
  let mayBeBehind = true;
  /** The customer who had the last turn. */
  let lastTurn = '';

  /** Without an event nothing else would: what waits would be late by as much as the clock was ahead. */
  async function hastenAfterClock(): Promise<void> {
    for (let webhooks = TARGETS_MAX; webhooks === TARGETS_MAX && !signal.aborted; ) {
      const dueAt = clock() + rules.firstDelayMs;
      webhooks = await store.write((tx) => hastenAll(tx, dueAt, TARGETS_MAX));
    }
  }

  async function findPosition(): Promise<number> {
    const { cursor, at, oldest, head, epoch: found } = await fanOutPosition(store.read);
    if (epoch !== null && found !== epoch) position = null;
    epoch = found;
    if (at - clock() > SKEW_MS) await hastenAfterClock();
    if (cursor > head) await store.write(rewindCursor);
    saved = Math.min(cursor, head);
    const known = position ?? 0;
    if (cursor <= head && known <= head) return Math.max(cursor, known, oldest - 1);
    onError(new LogRewoundError());
    return Math.max(saved, oldest - 1);
  }

  async function saveCursor(seq: number): Promise<void> {
    if (seq <= saved) return;
    if (seq - saved < SAVE_EVERY && elapsed() - savedAt < SAVE_MS) return;
    await store.write(async (tx) => {
      await holdCursor(tx, epoch);
      await advanceCursor(tx, seq);
    });
    saved = seq;
    savedAt = elapsed();
  }

  function told({ counts, dropped, numbers, counted }: Enqueued): void {
    rules.droppedCounts.remember(counted, numbers);
    rules.droppedCounts.subtract(dropped);
    if (counts.waiting > 0) wake();
    if (counts.events > 0) onEnqueued?.(counts);
  }

  async function enqueueSpan(span: LogSpan): Promise<number> {
    const enqueued = await store.write((tx) => enqueue(tx, span, rules));
    saved = enqueued.seq;
    savedAt = elapsed();
    mayBeBehind ||= enqueued.isBehind;
    told(enqueued);
    return enqueued.seq;
  }

  /** @returns whether nobody is behind */
  async function takeTurn(): Promise<boolean> {
    const owner = mayBeBehind ? await nextBehind(store.read, lastTurn) : null;
    mayBeBehind = owner !== null;
    if (owner === null) return true;
    lastTurn = owner;
    told(await store.write((tx) => enqueueTurn(tx, owner, rules)));
    return false;
  }

  /** @returns whether the end of the log was reached */
  async function readFrom(start: number): Promise<boolean> {
    let seq = start;
    for (let spans = 0; spans < SPANS && !signal.aborted; spans++) {
      const span = await nextSpan(store.read, seq, epoch);
      if (span === null) return true;
      seq = span.owners.length === 0 ? span.until : await enqueueSpan(span);
      position = seq;
      await saveCursor(seq);
      // Later commits wake the next pass.
      if (span.isLast && seq >= span.until) return true;
    }
    return false;
  }

  return {
    async pass(woken): Promise<'saved' | 'unsaved'> {
      try {
        if (!woken || position === null) {
          position = await findPosition();
          mayBeBehind = true;
        }
        for (let isDone = false; !isDone && !signal.aborted; ) {
          const isRead = await readFrom(position);
          isDone = (await takeTurn()) && isRead;
        }
        await saveCursor(position);
        return position > saved ? 'unsaved' : 'saved';
      } catch (error) {
        // After a lost connection the unit may be committed, and the database may be another one.
        position = null;
        rules.droppedCounts.clear();
        if (!(error instanceof OtherEpochError)) throw error;
        onError(error);
        return this.pass(false);
      }
    },
  };
}
