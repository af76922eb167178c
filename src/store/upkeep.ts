import { loopTimers, type Timers } from '../base/lifecycle/timers.ts';
import { LIMITS } from '../base/limits.ts';
import type { Clock } from '../base/time.ts';
import { openAuditRetention } from './audit-retention.ts';
import { retireAbandoned } from './dataset-changes.ts';
import { deleteRetiredParts, hasRetiredParts } from './datasets.ts';
import { eraseSuperseded, isErasureDue, pruneLog } from './log/change-log.ts';
import { deleteEndedInvitations } from './organizations.ts';
import { QUERY_LOG_WINDOW } from './query-log/add-rows.ts';
import { pruneBatches, pruneQueryLog, pruneQueryLogHours } from './query-log/retention.ts';
import type { Store } from './store.ts';
import { storeLoop } from './store-loop.ts';
import { pruneUsage } from './usage.ts';
import { pruneVersions } from './version-retention.ts';

/** Milliseconds between two rounds while units commit. Each erases payloads of the log that the fan-out has read. */
const ROUND_MS = 1_000;
/** Milliseconds between two scrubs, which remove erased bytes from the files unless another process reads them. */
const SCRUB_MS = 4_000;
/** Milliseconds between two prunings of the log. */
const PRUNE_MS = 60_000;
/** Milliseconds between two prunings of the audit log, which goes through all customers. */
const AUDIT_MS = 600_000;
/** Changes that one unit of work prunes or examines. */
const PRUNE_LIMIT = 1_000;
const ERASE_LIMIT = 500;

const HOUR_MS = 3_600_000;
/** Longer than rows are listed: the clocks of two control processes may differ, and counts of minutes go with the rows. */
const KEEP_QUERY_LOG = QUERY_LOG_WINDOW + 60_000;
/** A day longer than they are shown: the first step of a series begins with its day. */
const KEEP_QUERY_LOG_HOURS = (LIMITS.queryLogDays + 1) * 24 * HOUR_MS;
/** A node sends a batch of the query log again for as long as its rows may be listed, and one of usage for `usageSpoolDays`. */
const KEEP_BATCHES = {
  query_log_batches: QUERY_LOG_WINDOW + HOUR_MS,
  usage_batches: LIMITS.usageBatchDays * 24 * HOUR_MS,
} as const;
const KEEP_USAGE = LIMITS.usageDays * 24 * HOUR_MS;

/** Parts of retired datasets that one unit deletes. A part has at most 64 KiB, a large one of an items file 256. */
const PARTS_LIMIT = 16;
/** An import that nobody went on with for this time is given up. */
const KEEP_IMPORTS = 24 * HOUR_MS;

/** Milliseconds. After the database is back, the first round starts within the longest. */
const BACKOFF = { firstMs: 100, capMs: 1_000 };

interface UpkeepOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timers?: Timers | undefined;
  /** Milliseconds that the log is kept; longer where the fan-out lags. A follower that is further behind reads a snapshot. */
  readonly keepLog: number;
  /** Milliseconds that rows of the audit log are kept. */
  readonly keepAudit: number;
  /** Called after a round that failed. The loop retries it. */
  readonly onError?: (error: unknown) => void;
  /**
   * Called after each scrub. @param heldMs milliseconds for which another process has kept what was deleted in the files, by reading without an
   * end; 0: it is out of them
   */
  readonly onScrubbed?: (heldMs: number) => void;
}

/**
 * Erases, scrubs and prunes until aborted: a payload that was replaced or deleted is gone from log, histories that do not keep it, and
 * files within ten seconds, most of which are for the fan-out, unless another process reads them for longer; copies in a file of more than 8 MiB of SQLite later (`sqlite/leftovers.ts`). Resolves when it has stopped; never rejects.
 */
export async function startUpkeep(options: UpkeepOptions): Promise<void> {
  const { store, clock, signal, timers = loopTimers, keepLog, keepAudit, onError, onScrubbed } = options;
  const isAuditDue = createInterval(AUDIT_MS, timers);
  const pruneAudit = openAuditRetention(store);
  const isPruneDue = createInterval(PRUNE_MS, timers);
  const isScrubDue = createInterval(SCRUB_MS, timers);
  /** Of the first scrub of those in a row that found another process in the way. */
  let heldSince: number | null = null;
  const pass = async (): Promise<number> => {
    if (isPruneDue()) {
      await inUnits(signal, PRUNE_LIMIT, () =>
        store.write((tx) => pruneLog(tx, clock() - keepLog, PRUNE_LIMIT)),
      );
      await pruneTelemetry(store, clock(), signal);
      await inUnits(signal, PRUNE_LIMIT, () =>
        store.write((tx) => deleteEndedInvitations(tx, clock(), PRUNE_LIMIT)),
      );
      await store.write((tx) => retireAbandoned(tx, clock() - KEEP_IMPORTS, clock()));
    }
    if (isAuditDue()) await pruneAudit({ now: clock(), keep: keepAudit, signal });
    await deleteRetired(store, signal);
    if (await isErasureDue(store.read)) {
      await inUnits(signal, ERASE_LIMIT, () => store.write((tx) => eraseSuperseded(tx, ERASE_LIMIT)));
    }
    const isMore = await pruneVersions(store, clock(), signal);
    if (isScrubDue()) {
      const isErased = await store.scrub();
      const now = timers.elapsed();
      heldSince = isErased ? null : (heldSince ?? now);
      onScrubbed?.(now - (heldSince ?? now));
    }
    return isMore ? 0 : SCRUB_MS;
  };
  const onFault = (error: unknown): void => onError?.(error);
  await storeLoop({ store, signal, timers, pass, busyMs: ROUND_MS, backoff: BACKOFF, onError: onFault });
}

/** @returns whether `ms` milliseconds are over since the last call that returned true. The first does. */
function createInterval(ms: number, { elapsed }: Timers): () => boolean {
  let due = Number.NEGATIVE_INFINITY;
  return () => {
    const now = elapsed();
    if (now < due) return false;
    // Waits may end a little early.
    due = now + ms - ms / 10;
    return true;
  };
}

/** Deletes rows of the query log, batches and usage that are too old. */
export async function pruneTelemetry(
  { write }: Pick<Store, 'write'>,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  // Until nothing is left: rows that came late may stand between older ones.
  await inUnits(signal, 1, () => write((tx) => pruneQueryLog(tx, now - KEEP_QUERY_LOG, PRUNE_LIMIT)));
  await inUnits(signal, PRUNE_LIMIT, () =>
    write((tx) => pruneQueryLogHours(tx, now - KEEP_QUERY_LOG_HOURS, PRUNE_LIMIT)),
  );
  for (const table of ['query_log_batches', 'usage_batches'] as const) {
    const before = now - KEEP_BATCHES[table];
    await inUnits(signal, PRUNE_LIMIT, () => write((tx) => pruneBatches(tx, table, before, PRUNE_LIMIT)));
  }
  await inUnits(signal, PRUNE_LIMIT, () => write((tx) => pruneUsage(tx, now - KEEP_USAGE, PRUNE_LIMIT)));
}

/** Deletes what retired datasets have stored. */
export async function deleteRetired(
  { read, write }: Pick<Store, 'read' | 'write'>,
  signal: AbortSignal,
): Promise<void> {
  if (!(await hasRetiredParts(read))) return;
  await inUnits(signal, 1, async () => ((await write((tx) => deleteRetiredParts(tx, PARTS_LIMIT))) ? 1 : 0));
}

/** Runs small units, so that writers do not wait long, until one has less to do than its limit. */
async function inUnits(signal: AbortSignal, limit: number, unit: () => Promise<number>): Promise<void> {
  for (let done = limit; done >= limit && !signal.aborted; ) done = await unit();
}
