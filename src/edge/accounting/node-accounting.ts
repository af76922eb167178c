import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { QueryLogFormatError, type QueryLogSink } from '../../feed/query-log.ts';
import { UsageFormatError, type UsageSink } from '../../feed/usage-sink.ts';
import { every } from '../../lifecycle/every.ts';
import { realTimers, type Timers } from '../../lifecycle/timers.ts';
import { decodeHandover } from './handover.ts';
import { createRowOutbox } from './row-outbox.ts';
import { startSender } from './sender.ts';
import { newestBatches, type UsageSpool } from './spool.ts';
import { createUsageOutbox, type UsageOutbox } from './usage-outbox.ts';

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
  readonly timers?: Timers;
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
  const { clock, onUsageLost, boot = randomBytes(8).toString('hex') } = options;
  const found = await spool.read().catch((error: unknown) => {
    onFailing('spool', error);
    return [];
  });
  const { kept: spooled, lost } = newestBatches(found);
  if (lost > 0) onUsageLost(lost);
  const counts = createUsageOutbox({ node, boot, spooled, clock, onLost: onUsageLost });
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
  if (spooled.length > 0) usageSender.wake();

  const upkeep = spoolUpkeep(
    counts,
    spool,
    found.map(({ batch }) => batch),
  );
  let isSpoolFailing = false;
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
  /** Spools what makes no progress. */
  look(): Promise<void>;
  /** Spools whatever is unsent. */
  keep(): Promise<void>;
}

/** @param inFile ids of the batches in the file */
function spoolUpkeep(counts: UsageOutbox, spool: UsageSpool, inFile: readonly string[]): SpoolUpkeep {
  let held: ReadonlySet<string> = new Set(inFile);
  let heldAnswers = -1;
  let lastOldest: string | null = null;

  async function keep(): Promise<void> {
    const batches = counts.unsent();
    const answers = counts.waiting();
    await spool.write(batches);
    held = new Set(batches.map(({ batch }) => batch));
    heldAnswers = answers;
  }

  return {
    keep,
    async look() {
      const oldest = counts.oldest();
      const isStuck = oldest !== null && oldest === lastOldest;
      lastOldest = oldest;
      // Batches arrive in order: once the oldest is not in the file, none of the file is missing.
      if (oldest !== null && (isStuck || held.has(oldest))) {
        if (counts.waiting() !== heldAnswers) await keep();
        return;
      }
      if (held.size === 0) return;
      await spool.write([]);
      held = new Set();
      heldAnswers = -1;
    },
  };
}
