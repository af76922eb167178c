import type { Clock } from '../../../base/clock.ts';
import { loop } from '../../../base/lifecycle/loop.ts';
import { createWaker } from '../../../base/lifecycle/waker.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { SecretEncryption } from '../../../base/secret-encryption.ts';
import type { Store } from '../../../store/store.ts';
import { QUIET_MS } from '../../../store/store-loop.ts';
import { endAllLeases, waitingSince } from '../../../store/webhooks/dispatch.ts';
import { nextDueAfter, type WaitingWebhook, waitingWebhooks } from '../../../store/webhooks/due-webhooks.ts';
import { claimAttempts, type DeliveryAttempt } from '../delivery/delivery-attempt.ts';
import type { SendAttempt } from '../ports.ts';
import {
  type DispatchObserver,
  reportEnded,
  runDeliveryWorker,
  type WorkerContext,
} from './delivery-worker.ts';
import { assignWorkers, type WaitingWebhooks } from './fair-share.ts';
import { createWorkerPools, type PoolName } from './worker-pools.ts';

/** A wait that callers share: all resolve together, `ms` after the first call, so they can share one commit. 0: no wait. */
export function createSharedDelay(ms: number): () => Promise<void> {
  if (ms === 0) return () => Promise.resolve();
  let next: Promise<void> | null = null;
  return () => {
    next ??= new Promise((resolve) => {
      setTimeout(() => {
        next = null;
        resolve();
      }, ms);
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

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Ids of leases, unique among all processes. */
  readonly newId: () => string;
  readonly random: () => number;
  readonly sendAttempt: SendAttempt;
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
  const { workers = LIMITS.webhookWorkers } = options;
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
  const waker = createWaker(signal);
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
    leaseMs,
    observe,
    commitDelay: createSharedDelay(store.engine === 'sqlite' ? COMMIT_DELAY_MS : 0),
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
    const claimed = await store.write((tx) => claimAttempts(tx, { ...rules, now: clock() }));
    for (const attempt of claimed.attempts) {
      start(attempt, assigned.find(({ id }) => id === attempt.webhookId)?.pool ?? 'general');
    }
    reportEnded(observe, claimed.ended);
    return claimed.seen > 0 ? 0 : HELD_WAIT_MS;
  }

  let hasCommitted = false;
  let isResting = false;
  let mustEndLeases = store.engine === 'sqlite';
  async function pass(): Promise<number> {
    const began = performance.now();
    isResting = false;
    if (mustEndLeases) await store.write(endAllLeases);
    mustEndLeases = false;
    hasCommitted = false;
    const wait = await claimDue();
    failing.delete('search');
    const pause = Math.min(wait, PAUSE_FACTOR * (performance.now() - began));
    if (pause > 0) await waker.sleep(pause);
    const rest = wait - pause;
    if (wait <= LONGEST_WAIT_MS) return rest;
    // Not every unit that makes something due says so. For those, one search in this time is enough.
    const busy = Math.max(0, LONGEST_WAIT_MS - pause);
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
