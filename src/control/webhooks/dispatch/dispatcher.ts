import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import { loop } from '../../../lifecycle/loop.ts';
import { createWaker } from '../../../lifecycle/waker.ts';
import type { Store } from '../../store/store.ts';
import { endAllLeases, waitingSince } from '../../store/webhooks/dispatch.ts';
import { nextDueAfter, type WaitingWebhook, waitingWebhooks } from '../../store/webhooks/due-webhooks.ts';
import { claimAttempts, type DeliveryAttempt } from '../delivery/delivery-attempt.ts';
import type { SecretEncryption, SendAttempt } from '../ports.ts';
import {
  type DispatchObserver,
  reportEnded,
  runDeliveryWorker,
  type WorkerContext,
} from './delivery-worker.ts';
import { assignWorkers, type WaitingWebhooks } from './fair-share.ts';
import { createSharedDelay } from './shared-delay.ts';
import { createWorkerPools, type PoolName } from './worker-pools.ts';

/** Webhooks claimed in one unit of work, so that other writers wait little. */
const CLAIM_MAX = 16;
/** Waiting webhooks of each kind that one pass considers: several times as many as there are workers. */
const WAITING_MAX = 500;

/** Longest wait between two passes, milliseconds: a lost wake-up delays a delivery by no more. */
const LONGEST_WAIT_MS = 1000;
/** Wait after a pass that found only webhooks that another process holds, milliseconds. */
const HELD_WAIT_MS = 25;
const SHORTEST_WAIT_MS = 1;
/** A pass that found nothing is followed by a pause of four times its own length: passes take a fifth of the time at most. */
const PAUSE_FACTOR = 4;

/** Maximum delay before a finished attempt is committed, so that several attempts share one commit. Milliseconds. */
const COMMIT_DELAY_MS = 8;
/** Milliseconds. The deadline of an attempt, plus what a slow unit of work may take. */
const LEASE_MS = LIMITS.webhookDeadlineMs + 10_000;

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Names leases: no two processes may ever get the same. */
  readonly newId: () => string;
  /** A number from 0 up to 1: spreads retries. */
  readonly random: () => number;
  readonly sendAttempt: SendAttempt;
  readonly encryption: Pick<SecretEncryption, 'decrypt'>;
  /** Seconds before each attempt; as many attempts as numbers. The fan-out applies the first. */
  readonly schedule: readonly number[];
  readonly signal: AbortSignal;
  /** A fault of this server; the work is tried again. */
  readonly onError: (error: unknown) => void;
  readonly observe?: DispatchObserver;
  /** Deliveries under way at a time; those of one customer, outside the reserve; those in the reserve. */
  readonly workers?: number;
  readonly perCustomer?: number;
  readonly reserved?: number;
  /** Milliseconds; longer than any attempt takes. */
  readonly leaseMs?: number;
}

export interface Dispatcher {
  /** Starts a pass now. A hint: what is due is found without it, up to `LONGEST_WAIT_MS` later. */
  wake(): void;
  /** Resolves once the signal is aborted and what was under way is settled. Never rejects. */
  readonly stopped: Promise<void>;
}

const UNOBSERVED: DispatchObserver = { attempted() {}, ended() {}, arrived() {}, disabled() {} };

/**
 * Delivers what is due, until aborted. Each webhook has at most one delivery under way and occupies one worker meanwhile, so
 * a slow endpoint delays only itself. Several processes may dispatch on one PostgreSQL database; on SQLite one does, and at
 * its start it ends the leases that an earlier process left.
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
  const isFull = (userId: string, pool: PoolName): boolean =>
    pools.free(pool) <= 0 || pools.busyFor(userId, pool) >= pools.share(pool, 1);
  /** What failed at its last try: a search for work, or a unit that settles. Only the first failure is reported. */
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
    const { userId } = attempt;
    pools.occupy(userId, pool);
    const worker = runDeliveryWorker(context, attempt, pool)
      .catch(onError)
      .finally(() => {
        running.delete(worker);
        pools.release(userId, pool);
        waker.wake();
      });
    running.add(worker);
  }

  /** Waiting webhooks that a free worker may serve. */
  async function waiting(now: number): Promise<WaitingWebhooks> {
    const customers = new Set([...pools.customers('general'), ...pools.customers('reserve')]);
    const passed = [...customers].filter((userId) => isFull(userId, 'general'));
    const passedFast = passed.filter((userId) => isFull(userId, 'reserve'));
    const find = (isSlow: boolean, without: readonly string[]): Promise<WaitingWebhook[]> =>
      waitingWebhooks(store.read, { now, isSlow, passed: without, limit: WAITING_MAX });
    return {
      fast: await find(false, passedFast),
      slow: pools.free('general') > 0 ? await find(true, passed) : [],
    };
  }

  /** Claims what is due and starts workers. @returns milliseconds until something may be due; 0: there may be more now */
  async function claimDue(): Promise<number> {
    const free = workers - pools.busy();
    if (free <= 0) return LONGEST_WAIT_MS;
    const now = clock();
    const assigned = assignWorkers(await waiting(now), pools, Math.min(free, CLAIM_MAX));
    if (assigned.length === 0) {
      const at = await nextDueAfter(store.read, now);
      // A worker that becomes free wakes this loop, so webhooks that wait for one need no earlier pass.
      return at === null
        ? LONGEST_WAIT_MS
        : Math.max(SHORTEST_WAIT_MS, Math.min(LONGEST_WAIT_MS, at - clock()));
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

  let mustEndLeases = store.engine === 'sqlite';
  async function pass(): Promise<number> {
    const began = performance.now();
    if (mustEndLeases) await store.write(endAllLeases);
    mustEndLeases = false;
    const wait = await claimDue();
    failing.delete('search');
    if (wait > 0) await waker.sleep(Math.min(wait, PAUSE_FACTOR * (performance.now() - began)));
    return wait;
  }

  async function run(): Promise<void> {
    const stopListening = store.onWork('deliveries', () => waker.wake());
    await loop({ signal, waker, pass, onError: (error) => fail('search', error) });
    stopListening();
    await Promise.all(running);
  }

  return { wake: () => waker.wake(), stopped: run() };
}

/** Seconds for which the longest waiting webhook could have been served; 0 when none waits. */
export async function oldestDueSeconds(store: Store, now: number): Promise<number> {
  const since = await waitingSince(store.read);
  return since === null ? 0 : Math.max(0, now - since) / 1000;
}
