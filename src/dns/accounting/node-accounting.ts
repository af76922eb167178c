import { realRandom } from '../../base/chance.ts';
import { type Backoff, createWaker, every, loop } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { QueryLogFormatError, type QueryLogSink } from '../../feed/ports/query-log.ts';
import { type UsageBatch, UsageFormatError, type UsageSink } from '../../feed/ports/usage-sink.ts';
import { createRowOutbox, createUsageOutbox, type UsageOutbox } from './outboxes.ts';
import { decodeHandover } from './recorder.ts';
import { newestBatches, SpoolError, type UsageSpool } from './spool.ts';

interface Outbox<Batch> {
  /** The same batch until it is settled. */
  next(): Batch | null;
  settle(): void;
}

interface SenderOptions<Batch> {
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

interface Sender {
  /** There may be something to send. */
  wake(): void;
  /** Ends the waiting, sends what is left once, and resolves: after `limitMs` also with an attempt under way. */
  finish(limitMs: number): Promise<void>;
}

/** Milliseconds from the end of one pass to the next: a sink takes at most one unit of work a second. */
const PAUSE = { leastMs: 1_000, mostMs: 10_000, factor: 3 } as const;

/**
 * A sink that has more to do than it can answers late, and is asked less often: what waits meanwhile is summed up and makes larger batches, and
 * nobody has to tell many nodes how many they are. @param tookMs of the last pass
 */
function pauseAfter(tookMs: number): number {
  return Math.min(PAUSE.mostMs, Math.max(PAUSE.leastMs, PAUSE.factor * tookMs));
}
const BACKOFF: Backoff = { firstMs: 1000, capMs: 3_000 };
/** Longer than any wake-up takes to come. */
const IDLE_MS = 60_000;

/** Sends what is in the outbox, at least once and in order. After a failure it retries with exponential backoff. */
function startSender<Batch>(options: SenderOptions<Batch>): Sender {
  const { outbox, send, isRefused, onRefused, batchesAPass, onFailing, timers } = options;
  const ending = new AbortController();
  const waker = createWaker(ending.signal, timers);

  /** @param isOver asked after each batch: what waits then is left to the next pass */
  async function pass(isOver: () => boolean): Promise<void> {
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
      if (isOver()) return;
    }
  }

  const running = loop({
    signal: ending.signal,
    waker,
    backoff: BACKOFF,
    async pass() {
      if (outbox.next() === null) return IDLE_MS;
      const began = timers.elapsed();
      await pass(() => timers.elapsed() - began >= PAUSE.leastMs);
      await waker.sleep(pauseAfter(timers.elapsed() - began));
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
      const last = running.then(() => pass(() => false)).catch(onFailing);
      await Promise.race([last, late.promise]);
      cancel();
    },
  };
}

export interface NodeAccountingOptions {
  readonly node: string;
  readonly usage: UsageSink;
  /** Null: rows are dropped. */
  readonly queryLog: QueryLogSink | null;
  readonly spool: UsageSpool;
  /** Rows of the query log that were dropped. */
  readonly onDropped: (rows: number) => void;
  /** Answers in a batch that the control side will never take. */
  readonly onUsageRefused: (answers: number) => void;
  /** Answers that waited too long or were too many to be kept: they are in no sum. */
  readonly onUsageLost: (answers: number) => void;
  /** What was counted could not be sent, read from the spool or written to it. Called once for several failures in a row. */
  readonly onFailing: (part: 'usage' | 'query_log' | 'spool', error: unknown) => void;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  /** Differs at every start, so that no two batches of a node have one id. Left out: random. */
  readonly boot?: string;
}

export interface NodeAccounting {
  /** Takes a hand-over of a worker. */
  take(buffer: ArrayBuffer): void;
  /** Answers counted that the control side does not have yet. */
  waiting(): number;
  /** Of the file of unsent counts. */
  spoolOctets(): number;
  /** Sends what is left, and spools what cannot be sent. Call it when no worker hands over any more. */
  stop(): Promise<void>;
}

/**
 * Milliseconds between two looks at what is unsent. An answer waits up to a second in its worker, and up to two looks
 * here: it is in the spool seven seconds later at the latest.
 */
const SPOOL_MS = 3000;
/** Milliseconds that a stop waits for the sinks. */
const FINISH_MS = 2000;

/** The accounting of the main thread: takes what workers counted, and sends it to the control side. */
export async function openNodeAccounting(options: NodeAccountingOptions): Promise<NodeAccounting> {
  const { node, usage, queryLog, spool, onDropped, onUsageRefused, onFailing, timers = realTimers } = options;
  const { clock, onUsageLost, boot = Buffer.from(realRandom(8)).toString('hex') } = options;
  const counts = createUsageOutbox({ node, boot, clock, onLost: onUsageLost });
  const rows = createRowOutbox({ node, boot, onDropped });

  const usageSender = startSender({
    outbox: counts,
    send: (batch) => usage.add(batch),
    isRefused: (error) => error instanceof UsageFormatError,
    onRefused: (batch) => onUsageRefused(batch.counts.reduce((sum, { answers }) => sum + answers, 0)),
    batchesAPass: Number.POSITIVE_INFINITY,
    onFailing: (error) => onFailing('usage', error),
    timers,
  });
  const rowSender = startSender({
    outbox: rows,
    send: async (batch) => queryLog?.add(batch),
    isRefused: (error) => error instanceof QueryLogFormatError,
    onRefused: (batch) => onDropped(batch.rows.length),
    batchesAPass: 1,
    onFailing: (error) => onFailing('query_log', error),
    timers,
  });

  const upkeep = spoolUpkeep(counts, spool, (found) => {
    const { kept, lost } = newestBatches(found);
    if (lost > 0) onUsageLost(lost);
    counts.takeOver(kept);
    if (kept.length > 0) usageSender.wake();
  });
  let isSpoolFailing = false;
  await upkeep.read().catch((error: unknown) => {
    isSpoolFailing = true;
    onFailing('spool', error);
  });
  const looking = every({
    ms: SPOOL_MS,
    async task() {
      await upkeep.look();
      isSpoolFailing = false;
    },
    onError(error) {
      if (!isSpoolFailing) onFailing('spool', error);
      isSpoolFailing = true;
    },
    timers,
  });

  return {
    take(buffer) {
      const handover = decodeHandover(buffer);
      for (const { namespaceId, answers } of handover.totals) {
        if (answers > 0) counts.count(namespaceId, handover.since, answers);
      }
      usageSender.wake();
      if (queryLog === null) return;
      rows.take(handover);
      rowSender.wake();
    },
    waiting: () => counts.waiting(),
    spoolOctets: () => spool.octets(),
    async stop() {
      await Promise.all([usageSender.finish(FINISH_MS), rowSender.finish(FINISH_MS)]);
      await looking.stop();
      await upkeep.keep().catch((error: unknown) => onFailing('spool', error));
    },
  };
}

interface SpoolUpkeep {
  /** Takes over what an earlier process left. @throws SpoolError; system errors: then `look` reads it again */
  read(): Promise<void>;
  /** Spools what makes no progress. */
  look(): Promise<void>;
  /** Spools whatever is unsent. */
  keep(): Promise<void>;
}

function spoolUpkeep(
  counts: UsageOutbox,
  spool: UsageSpool,
  takeOver: (found: readonly UsageBatch[]) => void,
): SpoolUpkeep {
  let isRead = false;
  /** Ids of the batches in the file. */
  let held: ReadonlySet<string> = new Set();
  /** What this process has written, as `state` told it; null: nothing is in the file. */
  let heldState: string | null = null;
  /** Ids of the batches that were unsent at the last look. */
  let seen: ReadonlySet<string> = new Set();

  async function read(): Promise<void> {
    try {
      const found = await spool.read();
      isRead = true;
      held = new Set(found.map(({ batch }) => batch));
      takeOver(found);
    } catch (error) {
      // A damaged file has nothing that another attempt would give.
      isRead ||= error instanceof SpoolError;
      throw error;
    }
  }

  async function keep(): Promise<void> {
    // Counts of an earlier process must not be overwritten unread.
    if (!isRead) await read();
    const batches = counts.unsent();
    const kept = state();
    await spool.write(batches);
    held = new Set(batches.map(({ batch }) => batch));
    heldState = kept;
  }

  /** Changes with everything that is counted or arrives: while the oldest batch is the same none has arrived. */
  function state(): string {
    return `${counts.ids()[0]} ${counts.waiting()}`;
  }

  return {
    read,
    keep,
    async look() {
      // Batches of this process may be sent before those of the file: from here on the order is that of the outbox.
      if (!isRead) return keep();
      const ids = counts.ids();
      const [oldest] = ids;
      // Batches arrive in order. While the oldest was there at the last look, something of then has not arrived, also where others have.
      const isStuck = oldest !== undefined && seen.has(oldest);
      seen = new Set(ids);
      // Once the oldest is not in the file, none of the file is missing.
      if (oldest !== undefined && (isStuck || held.has(oldest))) {
        if (state() !== heldState) await keep();
        return;
      }
      if (held.size === 0) return;
      await spool.write([]);
      held = new Set();
      heldState = null;
    },
  };
}
