import { backoffMs, createWaker, loop } from '../../base/lifecycle/loop.ts';
import { pause, realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { SecretEncryption } from '../../base/seal.ts';
import type { Clock } from '../../base/time.ts';
import type { DeliveryError, DeliveryStatus } from '../../protocol/webhooks.ts';
import type { Store } from '../../store/store.ts';
import { QUIET_MS } from '../../store/store-loop.ts';
import {
  endAllLeases,
  nextDueAfter,
  type WaitingWebhook,
  waitingSince,
  waitingWebhooks,
} from '../../store/webhooks/dispatch.ts';
import {
  cancelAttempt,
  claimAttempts,
  type DeliveryAttempt,
  type EndedCounts,
  giveBackClaim,
  type Settled,
  settleAttempt,
  webhookBackoffMs,
} from './attempts.ts';
import { clockMend } from './clock-mend.ts';
import { assignWorkers, createWorkerPools, type PoolName, type WaitingWebhooks } from './fair-share.ts';
import { AttemptInterruptedError, type AttemptResult, type SendAttempt } from './send-attempt.ts';

/** A webhook keeps its worker for this many deliveries or milliseconds while others wait. */
const DELIVERIES_MAX = 16;
const SERVICE_MS = 1000;

const UNIT_BACKOFF = { firstMs: 50, capMs: 1000 };

/** For metrics. Methods must not throw. */
export interface DispatchObserver {
  attempted(error: DeliveryError | 'none', seconds: number): void;
  ended(status: Exclude<DeliveryStatus, 'pending'>, deliveries: number): void;
  /** A delivery was answered with a 2xx. @param seconds since it was enqueued */
  arrived(seconds: number): void;
  disabled(): void;
}

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Ids of leases, unique among all processes. */
  readonly newId: () => string;
  readonly random: () => number;
  readonly sendAttempt: SendAttempt;
  readonly timers?: Timers | undefined;
  readonly encryption: Pick<SecretEncryption, 'decrypt'>;
  /** Seconds before each attempt; its length is the number of attempts. The fan-out applies the first. */
  readonly schedule: readonly number[];
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  readonly observe?: DispatchObserver;
  /** Defaults are in LIMITS. Workers in all, of one customer outside the reserve, in the reserve. */
  readonly workers?: number;
  readonly perCustomer?: number;
  readonly reserved?: number;
  readonly leaseMs?: number;
}

export interface WorkerContext extends DispatcherOptions {
  readonly timers: Timers;
  readonly leaseMs: number;
  readonly observe: DispatchObserver;
  /** Delays a settlement, so that attempts that end at about the same time share one commit. */
  readonly commitDelay: () => Promise<void>;
  /** A unit of work ended: null when it succeeded, else the error. */
  readonly onUnit: (error: unknown) => void;
  /** By webhook: attempts in a row that the end of the outbound thread interrupted. They set the backoff. */
  readonly interruptions: Map<string, number>;
  /** Whether another webhook may be waiting for the worker that this customer occupies in a pool. */
  readonly othersWait: (customerId: string, pool: PoolName) => boolean;
}

/**
 * Makes attempts for one webhook, one at a time, until it must free the worker. Never rejects. After an abort it only
 * settles the open attempt.
 */
export async function runDeliveryWorker(
  context: WorkerContext,
  first: DeliveryAttempt,
  pool: PoolName,
): Promise<void> {
  const { elapsed } = context.timers;
  const until = elapsed() + SERVICE_MS;
  let attempt: DeliveryAttempt | null = first;
  for (let deliveries = 1; attempt !== null; deliveries++) {
    const isLast: boolean = deliveries >= DELIVERIES_MAX || elapsed() >= until;
    attempt = await sendAndSettle(context, attempt, pool, isLast);
  }
}

/** @returns the webhook's next attempt, or null when the worker is free */
async function sendAndSettle(
  context: WorkerContext,
  attempt: DeliveryAttempt,
  pool: PoolName,
  isLast: boolean,
): Promise<DeliveryAttempt | null> {
  const { store, clock, signal, observe } = context;
  const leaseEnds = context.timers.elapsed() + context.leaseMs;
  const cancel = (restsUntil: () => number | null): Promise<unknown> =>
    retryWhileLeased(context, leaseEnds, () =>
      store.write((tx) => cancelAttempt(tx, attempt, clock(), restsUntil())),
    );
  if (signal.aborted) {
    await cancel(() => null);
    return null;
  }
  const result = await send(context, attempt);
  if ('retryInMs' in result) {
    await cancel(() => clock() + result.retryInMs);
    return null;
  }
  const arrivedAt = clock();
  observe.attempted(result.error ?? 'none', result.durationMs / 1000);
  await context.commitDelay();
  const settled = await retryWhileLeased(context, leaseEnds, () => {
    const { leaseMs, schedule } = context;
    // The reserve is for fast endpoints; this one became slow.
    const mayStay = pool === 'general' || result.durationMs < LIMITS.webhookFastMs;
    const goOn = !signal.aborted && mayStay && !(isLast && context.othersWait(attempt.customerId, pool));
    const rules = { now: clock(), leaseMs, schedule, random: context.random(), goOn };
    return store.write((tx) => settleAttempt(tx, attempt, result, rules));
  });
  if (settled === null) return null;
  report(observe, settled, (arrivedAt - attempt.createdAt) / 1000);
  return settled.next;
}

/** A fault of this server prevented the attempt. The endpoint's counters do not change. */
interface NotSent {
  readonly retryInMs: number;
}

async function send(context: WorkerContext, attempt: DeliveryAttempt): Promise<AttemptResult | NotSent> {
  const { interruptions } = context;
  try {
    const { webhookId, url, deliveryId, event, body } = attempt;
    const signingSecret = context.encryption.decrypt(webhookId, attempt.encryptedSecret);
    const result = await context.sendAttempt({ url, signingSecret, deliveryId, event, body });
    interruptions.delete(webhookId);
    return result;
  } catch (error) {
    if (!(error instanceof AttemptInterruptedError)) {
      context.onError(error);
      return { retryInMs: LIMITS.webhookRestMaxMs };
    }
    const count = (interruptions.get(attempt.webhookId) ?? 0) + 1;
    interruptions.set(attempt.webhookId, count);
    return { retryInMs: webhookBackoffMs(count) };
  }
}

/**
 * Repeats a failing unit of work until the lease expires. Another process may then send the delivery again, under the same
 * id. @returns null when the unit did not succeed
 */
async function retryWhileLeased<T>(
  context: WorkerContext,
  leaseEnds: number,
  unit: () => Promise<T>,
): Promise<T | null> {
  for (let failures = 1; ; failures++) {
    try {
      const done = await unit();
      context.onUnit(null);
      return done;
    } catch (error) {
      context.onUnit(error);
      if (context.signal.aborted || context.timers.elapsed() >= leaseEnds) return null;
    }
    await pause(context.timers, backoffMs(failures, UNIT_BACKOFF));
  }
}

function report(observe: DispatchObserver, settled: Settled, seconds: number): void {
  const { status, isDisabled } = settled;
  if (status !== null && status !== 'pending') observe.ended(status, 1);
  if (status === 'succeeded') observe.arrived(seconds);
  if (isDisabled) observe.disabled();
  reportEnded(observe, settled.ended);
}

function reportEnded(observe: DispatchObserver, { failed, dropped }: EndedCounts): void {
  if (failed > 0) observe.ended('failed', failed);
  if (dropped > 0) observe.ended('dropped', dropped);
}

/** A wait that callers share: all resolve together, `ms` after the first call, so they can share one commit. 0: no wait. */
export function createSharedDelay(ms: number, timers: Timers): () => Promise<void> {
  if (ms === 0) return () => Promise.resolve();
  let next: Promise<void> | null = null;
  return () => {
    next ??= new Promise((resolve) => {
      timers.after(ms, () => {
        next = null;
        resolve();
      });
    });
    return next;
  };
}

/** Webhooks claimed in one unit of work. More would make other writers wait longer. */
const CLAIM_MAX = 16;
/** Waiting webhooks of each kind that one pass considers: several times as many as there are workers. */
const WAITING_MAX = 500;

/** Longest wait between two passes while units commit, milliseconds. `QUIET_MS` is the longest while none does. */
const LONGEST_WAIT_MS = 1000;
/** Wait after a pass that found only webhooks that another process holds, milliseconds. */
const HELD_WAIT_MS = 25;
const SHORTEST_WAIT_MS = 1;
/** Pause after a pass that found nothing, in lengths of that pass: passes take at most a fifth of the time. */
const PAUSE_FACTOR = 4;

/** Maximum delay before a finished attempt is committed, so that several attempts share one commit. Milliseconds. */
const COMMIT_DELAY_MS = 8;
/** Milliseconds: the deadline of an attempt and 10 s for slow units of work. */
const LEASE_MS = LIMITS.webhookDeadlineMs + 10_000;

export interface Dispatcher {
  /** Starts a pass now. Without it, due work is found up to `QUIET_MS` later. */
  wake(): void;
  /** Resolves after an abort, when open attempts are settled. Never rejects. */
  readonly stopped: Promise<void>;
}

const UNOBSERVED: DispatchObserver = { attempted() {}, ended() {}, arrived() {}, disabled() {} };

/**
 * Delivers due deliveries until aborted, at most one at a time for each webhook. Several processes may dispatch on one
 * PostgreSQL database. On SQLite only one may: at its start it ends the leases that an earlier process left.
 */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, newId, signal, onError, leaseMs = LEASE_MS } = options;
  const { workers = LIMITS.webhookWorkers, timers = realTimers } = options;
  const { reserved = Math.min(LIMITS.webhookWorkersReserved, Math.floor(workers / 4)) } = options;
  const pools = createWorkerPools({
    workers,
    reserved,
    perCustomer: {
      general: options.perCustomer ?? LIMITS.webhookWorkersPerCustomer,
      reserve: LIMITS.webhookReservedPerCustomer,
    },
  });
  const observe = options.observe ?? UNOBSERVED;
  const waker = createWaker(signal, options.timers);
  const running = new Set<Promise<void>>();
  const isFull = (customerId: string, pool: PoolName): boolean =>
    pools.free(pool) <= 0 || pools.busyFor(customerId, pool) >= pools.share(pool, 1);
  /** Work whose last try failed. Only the first failure in a row is reported. */
  const failing = new Set<'search' | 'settle'>();
  const fail = (what: 'search' | 'settle', error: unknown): void => {
    if (failing.size === 0) onError(error);
    failing.add(what);
  };
  const context: WorkerContext = {
    ...options,
    timers,
    leaseMs,
    observe,
    commitDelay: createSharedDelay(store.engine === 'sqlite' ? COMMIT_DELAY_MS : 0, timers),
    interruptions: new Map(),
    onUnit(error) {
      if (error === null) failing.delete('settle');
      else fail('settle', error);
    },
    othersWait: isFull,
  };

  function start(attempt: DeliveryAttempt, pool: PoolName): void {
    const { customerId } = attempt;
    pools.occupy(customerId, pool);
    const worker = runDeliveryWorker(context, attempt, pool)
      .catch(onError)
      .finally(() => {
        running.delete(worker);
        pools.release(customerId, pool);
        waker.wake();
      });
    running.add(worker);
  }

  async function waiting(now: number): Promise<WaitingWebhooks> {
    const customers = new Set([...pools.customers('general'), ...pools.customers('reserve')]);
    const passed = [...customers].filter((customerId) => isFull(customerId, 'general'));
    const passedFast = passed.filter((customerId) => isFull(customerId, 'reserve'));
    const find = (isSlow: boolean, without: readonly string[]): Promise<WaitingWebhook[]> =>
      waitingWebhooks(store.read, { now, isSlow, passed: without, limit: WAITING_MAX });
    return {
      fast: await find(false, passedFast),
      slow: pools.free('general') > 0 ? await find(true, passed) : [],
    };
  }

  /** The claim that began last, unless it is known how it ended. */
  let unsure: { readonly claim: string; readonly ids: readonly string[] } | null = null;

  /** @returns milliseconds until a delivery may be due; 0: one may be due now */
  async function claimDue(): Promise<number> {
    const free = workers - pools.busy();
    if (free <= 0) return LONGEST_WAIT_MS;
    const now = clock();
    const assigned = assignWorkers(await waiting(now), pools, Math.min(free, CLAIM_MAX));
    if (assigned.length === 0) {
      const at = await nextDueAfter(store.read, now);
      // A worker that becomes free wakes this loop, so webhooks that wait for one need no timer.
      return at === null ? QUIET_MS : Math.max(SHORTEST_WAIT_MS, Math.min(QUIET_MS, at - clock()));
    }
    const ids = assigned.map(({ id }) => id);
    const rules = { leaseMs, schedule: options.schedule, claim: newId(), ids };
    unsure = { claim: rules.claim, ids };
    const claimed = await store.write((tx) => claimAttempts(tx, { ...rules, now: clock() }));
    unsure = null;
    for (const attempt of claimed.attempts) {
      start(attempt, assigned.find(({ id }) => id === attempt.webhookId)?.pool ?? 'general');
    }
    reportEnded(observe, claimed.ended);
    return claimed.seen > 0 ? 0 : HELD_WAIT_MS;
  }

  /** Where the answer of the database was lost, these webhooks would rest until the lease ends: for hours by a clock that is ahead. */
  async function giveBackUnsure(): Promise<void> {
    if (unsure === null) return;
    const { claim, ids } = unsure;
    await store.write((tx) => giveBackClaim(tx, claim, ids, clock()));
    unsure = null;
  }

  const mendAfterClock = clockMend({ store, clock, elapsed: timers.elapsed, leaseMs, signal });
  let hasCommitted = false;
  let isResting = false;
  let mustEndLeases = store.engine === 'sqlite';
  async function pass(): Promise<number> {
    const began = timers.elapsed();
    isResting = false;
    if (mustEndLeases) await store.write(endAllLeases);
    mustEndLeases = false;
    await giveBackUnsure();
    await mendAfterClock();
    hasCommitted = false;
    const wait = await claimDue();
    failing.delete('search');
    const restMs = Math.min(wait, PAUSE_FACTOR * (timers.elapsed() - began));
    if (restMs > 0) await waker.sleep(restMs);
    const rest = wait - restMs;
    if (wait <= LONGEST_WAIT_MS) return rest;
    // Not every unit that makes something due says so. For those, one search in this time is enough.
    const busy = Math.max(0, LONGEST_WAIT_MS - restMs);
    if ((await waker.wait(busy)) || hasCommitted) return 0;
    isResting = true;
    return rest - busy;
  }

  async function run(): Promise<void> {
    const stopListening = store.onWork('deliveries', () => waker.wake());
    const stopWatching = store.onCommit(() => {
      hasCommitted = true;
      if (isResting) waker.wake();
    });
    await loop({ signal, waker, pass, onError: (error) => fail('search', error) });
    stopListening();
    stopWatching();
    await Promise.all(running);
  }

  return { wake: () => waker.wake(), stopped: run() };
}

/** Seconds for which the longest waiting webhook could have been served; 0 when none waits. */
export async function oldestDueSeconds(store: Store, now: number): Promise<number> {
  const since = await waitingSince(store.read);
  return since === null ? 0 : Math.max(0, now - since) / 1000;
}
