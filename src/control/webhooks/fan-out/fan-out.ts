import type { Clock } from '../../../core/clock.ts';
import { loop } from '../../../lifecycle/loop.ts';
import { createWaker } from '../../../lifecycle/waker.ts';
import type { Store } from '../../store/store.ts';
import { advanceCursor, fanOutPlace, rewindCursor } from '../../store/webhooks/fan-out.ts';
import { type Enqueued, FANOUT_BOUNDS, type FanoutBounds } from './delivery-batch.ts';
import { enqueue, Histories, nextSpan, type Span, type UnitRules } from './enqueue.ts';

/** The longest that a lost wake-up goes unnoticed. */
const POLL_MS = 1000;
/** Rest between two looks at the log, so that a stream of commits is not looked at one by one. */
const REST_MS = 1;

/** Where nothing is to be enqueued the cursor is only written after so many changes, or so long. */
const KEEP_EVERY = 5000;
const KEEP_MS = 1000;

export interface FanoutOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Ids of deliveries, in order of time. */
  readonly newId: () => string;
  readonly signal: AbortSignal;
  /** Called when there is something more to attempt. */
  readonly wake: () => void;
  /** Told of the first of several passes in a row that failed, which are tried again, and of a log that ends before the place that it was read up to. */
  readonly onError: (error: unknown) => void;
  /** Told of each unit of work that gave numbers to events. Must not throw. */
  readonly onEnqueued?: (counts: Enqueued) => void;
  /** Milliseconds from enqueueing to the first attempt. */
  readonly firstDelayMs?: number;
  readonly bounds?: Partial<FanoutBounds>;
  readonly pollMs?: number;
}

export interface Fanout {
  /**
   * Enqueues what the log has, or until the signal is aborted.
   *
   * @param woken whether to trust the place in memory, which saves a statement
   */
  pass(woken: boolean): Promise<void>;
}

/** The log ends before the place that it was read up to: the database is an older one. */
class LogRewoundError extends Error {
  constructor() {
    super('the change log ends before the place of the fan-out');
    this.name = 'LogRewoundError';
  }
}

/**
 * Enqueues deliveries for what is committed from now on until aborted: on every change, and when none was heard of after
 * `pollMs`. A change that is heard of also ends a wait after a fault. Resolves when it has stopped; never rejects. Several may run on one database.
 */
export async function startFanout(options: FanoutOptions): Promise<void> {
  const { store, signal, onError, pollMs = POLL_MS } = options;
  const waker = createWaker(signal);
  const fanout = openFanout(options);
  let heard = false;
  const stopListening = store.changes.onChange(() => {
    heard = true;
    waker.wake();
  });
  await loop({
    signal,
    waker,
    pass: async () => {
      const woken = heard;
      heard = false;
      await fanout.pass(woken);
      await waker.sleep(Math.min(REST_MS, pollMs));
      return pollMs;
    },
    onError: (error, failures) => {
      if (failures === 1) onError(error);
    },
  });
  stopListening();
}

/**
 * The fan-out without its loop. Reads on in the log after its place, which is in memory and runs ahead of the cursor in the
 * database while there is nothing to enqueue: what lies between was judged, and would be judged alike again. Deliveries and
 * cursor move in one unit of work, so each event is enqueued once for a webhook, whoever dies when.
 *
 * A log that was pruned past the place goes on at its oldest change. One that ends before it, as that of a database restored
 * from a backup may, goes on at the cursor, or at its end when the cursor is past that too; `onError` is told.
 */
export function openFanout(options: FanoutOptions): Fanout {
  const { store, clock, signal, wake, onError, onEnqueued } = options;
  const rules: UnitRules = {
    clock,
    newId: options.newId,
    bounds: { ...FANOUT_BOUNDS, ...options.bounds },
    firstDelayMs: options.firstDelayMs ?? 0,
    histories: new Histories(),
  };
  let place: number | null = null;
  /** What the cursor in the database is known to have reached, and when it was last written. */
  let kept = 0;
  let keptAt = performance.now();

  async function find(): Promise<number> {
    const { cursor, oldest, head } = await fanOutPlace(store.read);
    if (cursor > head) await store.write(rewindCursor);
    kept = Math.min(cursor, head);
    const known = place ?? 0;
    // Another process has gone ahead, and may have filled them.
    if (cursor > known) rules.histories.clear();
    if (cursor <= head && known <= head) return Math.max(cursor, known, oldest - 1);
    onError(new LogRewoundError());
    return Math.max(kept, oldest - 1);
  }

  async function keep(seq: number): Promise<void> {
    if (seq <= kept) return;
    if (seq - kept < KEEP_EVERY && performance.now() - keptAt < KEEP_MS) return;
    await store.write((tx) => advanceCursor(tx, seq));
    kept = seq;
    keptAt = performance.now();
  }

  async function enqueueSpan(span: Span): Promise<number> {
    const { seq, counts, dropped, counted } = await store.write((tx) => enqueue(tx, span, rules));
    kept = seq;
    keptAt = performance.now();
    rules.histories.learn(counted);
    rules.histories.fill(dropped);
    if (counts.waiting > 0) wake();
    if (counts.events > 0) onEnqueued?.(counts);
    return seq;
  }

  async function readOn(from: number): Promise<void> {
    for (let seq = from; !signal.aborted; ) {
      const span = await nextSpan(store.read, seq);
      if (span === null) return;
      seq = span.owners.length === 0 ? span.until : await enqueueSpan(span);
      place = seq;
      await keep(seq);
      // Whatever came since has a pass of its own: a stream of writes is not followed one by one.
      if (span.isLast && seq >= span.until) return;
    }
  }

  return {
    async pass(woken) {
      try {
        place = woken && place !== null ? place : await find();
        await readOn(place);
        await keep(place);
      } catch (error) {
        // Nobody knows how a unit ended whose connection was lost, nor whether it was to this very database.
        place = null;
        rules.histories.clear();
        throw error;
      }
    },
  };
}
