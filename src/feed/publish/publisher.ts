/** Sends the log to the nodes: live at once, and into the stream. */

import { type Backoff, createWaker, loop, type Waker } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { AppendConflictError, type Bus, SUBJECTS } from '../bus/bus.ts';
import { type BatchSecrets, openBatch, packRows, writeHead } from '../message/batch.ts';
import type { FeedVerifier } from '../message/keys.ts';
import type { ChangeSource, LogBounds } from '../ports/change-source.ts';
import type { LeaderLease, LeaderLock } from '../ports/feed-store.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import { createLine, type Line, type StreamEnd } from './line.ts';

interface PublisherOptions {
  readonly source: ChangeSource;
  readonly bus: Bus;
  readonly lock: LeaderLock;
  /** The present hourly key with the signing key; asked for each batch. */
  readonly secrets: () => BatchSecrets;
  /** Of this publisher's key, and of those that signed what the stream may hold. */
  readonly verifier: FeedVerifier;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  readonly heartbeatMs?: number;
  /** Milliseconds until a lost wake-up of the log is noticed. */
  readonly pollMs?: number;
  readonly onEvent?: (event: PublisherEvent, error?: unknown) => void;
}

/** `conflict`: another publisher has written the stream. `behind_stream`: the stream has changes that the log does not have. */
export type PublisherEvent =
  | 'leading'
  | 'stepped_back'
  | 'conflict'
  | 'stream_failed'
  | 'rewound'
  | 'behind_stream'
  | 'failed';

export interface Publisher {
  /** `seq` of the last change that was sent, null while another process publishes; and batches that the stream has not confirmed. */
  status(): { readonly seq: number | null; readonly unconfirmed: number };
  stop(): Promise<void>;
}

/** The stream has changes that the log does not have: the database is an older one, under the same epoch. */
class BehindStreamError extends Error {}

/** Of both loops: another publisher takes over within two seconds. */
const BACKOFF: Backoff = { firstMs: 100, capMs: 1_000 };
/**
 * Changes within this time after a batch go together into the next one: a node verifies one signature for all of them. A change after a
 * pause is sent at once.
 */
const GATHER_MS = 20;
/** New batches wake the appends; this is for a wake-up that was lost. */
const APPEND_WAIT_MS = 10_000;

/** Waits for the lock, then publishes until it is stopped, the lock is lost, or another publisher has written. */
export function startPublisher(options: PublisherOptions): Publisher {
  const { lock, timers = realTimers, onEvent } = options;
  const ending = new AbortController();
  let line: Line | null = null;

  async function lead(lease: LeaderLease): Promise<void> {
    // Ends both loops, also when one of them steps back. Not `AbortSignal.any`: Node keeps such a signal while somebody listens to it.
    const over = new AbortController();
    const { signal } = over;
    const unlink = abortWith(over, [ending.signal, lease.lost]);
    try {
      const bounds = await options.source.bounds();
      const led = await beginLine(options, bounds);
      line = led;
      onEvent?.('leading');
      const work: Work = {
        ...options,
        line: led,
        epoch: bounds.epoch,
        signal,
        stepBack: () => over.abort(),
        tailWaker: createWaker(signal, timers),
        appendWaker: createWaker(signal, timers),
      };
      await Promise.all([tail(work), appendAll(work)]);
    } finally {
      unlink();
    }
  }

  const ended = loop({
    signal: ending.signal,
    waker: createWaker(ending.signal, timers),
    backoff: BACKOFF,
    async pass() {
      const lease = await lock.acquire(ending.signal);
      try {
        await lead(lease);
      } finally {
        line = null;
        await lease.release();
      }
      onEvent?.('stepped_back');
      return BACKOFF.firstMs;
    },
    onError: (error) => onEvent?.(error instanceof BehindStreamError ? 'behind_stream' : 'failed', error),
  });

  return {
    status: () => ({ seq: line?.after ?? null, unconfirmed: line?.waiting ?? 0 }),
    async stop() {
      ending.abort();
      await ended;
    },
  };
}

/** @returns ends the link */
function abortWith(controller: AbortController, signals: readonly AbortSignal[]): () => void {
  const abort = (): void => controller.abort();
  for (const signal of signals) {
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  }
  return () => {
    for (const signal of signals) signal.removeEventListener('abort', abort);
  };
}

/** Goes on where the stream ends. Without a readable stream, from the head of the log: nodes ask control for the rest. */
async function beginLine(
  { bus, verifier, secrets, onEvent }: PublisherOptions,
  bounds: LogBounds,
): Promise<Line> {
  let end: StreamEnd | null | undefined;
  try {
    end = await endOf(bus, verifier, bounds.epoch);
  } catch (error) {
    onEvent?.('stream_failed', error);
  }
  const to = end?.batch?.to ?? bounds.head;
  if (to > bounds.head) throw new BehindStreamError();
  return createLine(bounds.epoch, secrets, Math.max(to, bounds.oldest - 1), end);
}

/** A message of another epoch or of nobody we know is only a number, as one that was removed. */
async function endOf(bus: Bus, verifier: FeedVerifier, epoch: string): Promise<StreamEnd | null> {
  let last = await bus.readLast();
  if (last === null) {
    // After two hours without a change the stream is empty, and the next append must still name its last number.
    const lastSeq = await bus.lastSeq();
    // Read again: the number may be that of a message that another publisher appended meanwhile.
    last = await bus.readLast();
    if (last === null) return lastSeq === 0 ? null : { seq: lastSeq, batch: null, isRemoved: true };
  }
  const { seq } = last;
  try {
    const batch = openBatch(last.data, verifier);
    const isOurs = batch.epoch === epoch;
    return { seq, batch: isOurs ? batch : null, isRemoved: false };
  } catch (error) {
    if (error instanceof FeedRefusedError) return { seq, batch: null, isRemoved: false };
    throw error;
  }
}

/** What both loops of a leader share. */
interface Work extends PublisherOptions {
  readonly line: Line;
  readonly epoch: string;
  /** Aborted when this process no longer publishes. */
  readonly signal: AbortSignal;
  readonly stepBack: () => void;
  readonly tailWaker: Waker;
  readonly appendWaker: Waker;
}

/** Reads the log and sends each batch live, without waiting for the stream. Steps back when the log is another one. */
async function tail(work: Work): Promise<void> {
  const { source, bus, line, signal, clock, heartbeatMs = 500, pollMs = 250, onEvent } = work;
  let heartbeatAt = clock();
  let sentAt = 0;
  // A clock that was set back must not silence the heartbeat until it has caught up.
  const isDue = (): boolean => Math.abs(clock() - heartbeatAt) >= heartbeatMs;

  async function send(): Promise<void> {
    while (!signal.aborted) {
      const { version } = line;
      // Of this epoch alone: the heartbeat finds another one.
      const changes = await source.since(work.epoch, line.after, LIMITS.feedBatchChanges);
      if (signal.aborted) return;
      // These changes are not the next ones.
      if (version !== line.version) continue;
      if (changes.length > 0) {
        sentAt = clock();
        for (const rows of packRows(changes, LIMITS.feedStreamOctets))
          bus.publish(SUBJECTS.live, line.add(rows, clock()));
        work.appendWaker.wake();
      }
      if (changes.length < LIMITS.feedBatchChanges) return line.reachedEnd();
      // A long log does not hold up the heartbeat.
      if (isDue()) return;
    }
  }

  async function pass(): Promise<number> {
    const early = sentAt + GATHER_MS - clock();
    // A longer time is a clock that was set back.
    if (early > 0 && early <= GATHER_MS && !isDue()) return early;
    // Read first: when the heartbeat is sent, everything that it tells of was sent live.
    const bounds = isDue() ? await source.bounds() : null;
    // Of the bounds, and not of the message: a batch that is sent in between is newer, and its changes are not taken for a log that was set back.
    const readAt = clock();
    if (bounds !== null && bounds.epoch !== work.epoch) {
      work.stepBack();
      return 0;
    }
    await send();
    if (bounds !== null && !signal.aborted) {
      heartbeatAt = clock();
      bus.publish(SUBJECTS.head, writeHead({ ...bounds, at: readAt }, work.secrets()));
    }
    return Math.max(0, Math.min(pollMs, heartbeatAt + heartbeatMs - clock()));
  }

  const unlisten = source.onChange(() => work.tailWaker.wake());
  const onError = (error: unknown): void => onEvent?.('failed', error);
  await loop({ signal, waker: work.tailWaker, pass, backoff: BACKOFF, onError });
  unlisten();
}

/** Appends what was sent, in order. After any error it compares the line with what the stream holds. */
async function appendAll(work: Work): Promise<void> {
  const { bus, line, signal, onEvent } = work;
  let isUncertain = false;

  async function compare(): Promise<void> {
    const comparison = line.compare(await endOf(bus, work.verifier, work.epoch));
    isUncertain = false;
    if (comparison === 'goes-on' || signal.aborted) return;
    onEvent?.(comparison === 'other' ? 'conflict' : 'rewound');
    if (comparison === 'other') work.stepBack();
    else work.tailWaker.wake();
  }

  async function pass(): Promise<number> {
    if (isUncertain || !line.isWhole) await compare();
    for (let next = line.next(); next !== null && !signal.aborted; next = line.next()) {
      // Until the stream has confirmed it, nobody knows.
      isUncertain = true;
      await bus.append(next.message, next.expectedLast);
      isUncertain = false;
      line.stored(next.message);
    }
    return APPEND_WAIT_MS;
  }

  const onError = (error: unknown): void => {
    // What the stream holds tells whether it was this publisher.
    if (!(error instanceof AppendConflictError)) onEvent?.('stream_failed', error);
  };
  await loop({ signal, waker: work.appendWaker, pass, backoff: BACKOFF, onError });
}

/**
 * The lock where only one process can publish: over SQLite, where the lock of the data directory lets in one server. It divides the
 * publishers of this process.
 */
export function processLock(): LeaderLock {
  let isHeld = false;
  const waiting = new Set<() => void>();

  function free(): void {
    isHeld = false;
    const [next] = waiting;
    next?.();
  }

  return {
    acquire: (signal) =>
      new Promise((resolve, reject) => {
        function stop(): void {
          waiting.delete(take);
          reject(signal.reason as Error);
        }
        function take(): void {
          waiting.delete(take);
          signal.removeEventListener('abort', stop);
          isHeld = true;
          let isOurs = true;
          resolve({
            // Nobody takes it away.
            lost: new AbortController().signal,
            async release() {
              if (isOurs) free();
              isOurs = false;
            },
          });
        }
        if (signal.aborted) return stop();
        if (!isHeld) return take();
        waiting.add(take);
        signal.addEventListener('abort', stop, { once: true });
      }),
  };
}
