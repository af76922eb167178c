import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import { loop } from '../../../lifecycle/loop.ts';
import { createWaker } from '../../../lifecycle/waker.ts';
import type { Store } from '../../store/store.ts';
import { forgetClaims, waitingSince } from '../../store/webhooks/dispatch.ts';
import { nextTurnAfter, type WaitingWebhook, waitingWebhooks } from '../../store/webhooks/due-webhooks.ts';
import { claimTurns, type Turn } from '../delivery/delivery-attempt.ts';
import type { Attempt, SecretSeal } from '../ports.ts';
import { type DispatchObserver, reportEnded, runSlot, type SlotContext } from './delivery-worker.ts';
import { planTurns, type Waiting } from './fair-share.ts';
import { createBeat } from './shared-delay.ts';
import { createSlotPools, type Pool } from './worker-pools.ts';

/** Webhooks claimed in one unit of work, so that writers never wait long behind it. */
const CLAIM_MAX = 16;
/** Waiting webhooks of each kind that one look considers: several times as many as there are slots. */
const WAITING_MAX = 500;

/** Longest sleep between two looks for something due: the longest that a lost wake-up goes unnoticed. */
const LONGEST_SLEEP = 1000;
/** Pause after a look in vain at something that another process holds just now. */
const HELD_SLEEP = 25;
const SHORTEST_SLEEP = 1;
/** A look in vain is followed by so many times its own length without another: looking takes a fifth of the time at most. */
const LOOK_SHARE = 4;

/** So long an attempt that is over may wait for others, with which it shares a sync to disk. Milliseconds. */
const SETTLE_MS = 8;
/** Milliseconds. Above the deadline of an attempt by what a slow unit of work may take. */
const LEASE_MS = LIMITS.webhookDeadlineMs + 10_000;

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Names leases: never the same twice, whoever makes it. */
  readonly newId: () => string;
  /** A number from 0 up to 1: spreads retries. */
  readonly random: () => number;
  readonly attempt: Attempt;
  readonly seal: Pick<SecretSeal, 'open'>;
  /** Seconds before each attempt; as many attempts as numbers. The first is the fan-out's business. */
  readonly schedule: readonly number[];
  readonly signal: AbortSignal;
  /** Told of a fault of ours: what it was about is tried again. */
  readonly onError: (error: unknown) => void;
  readonly observe?: DispatchObserver;
  /** Deliveries under way at a time; those of one customer among them, outside the reserve; those in the reserve. */
  readonly slots?: number;
  readonly perCustomer?: number;
  readonly reserved?: number;
  /** Milliseconds; longer than any attempt takes. */
  readonly leaseMs?: number;
}

export interface Dispatcher {
  /** Looks for something due now. A hint: it would be found anyway, if a little later. */
  wake(): void;
  /** Resolves once the signal is aborted and what was under way is settled. Never rejects. */
  readonly stopped: Promise<void>;
}

const UNOBSERVED: DispatchObserver = { attempted() {}, ended() {}, arrived() {}, disabled() {} };

/**
 * Delivers what is due, until aborted. Each webhook has one delivery under way at a time, and a slot of its own while it
 * has: one that is slow delays nobody but itself. Several processes may do so on one PostgreSQL database; on SQLite one
 * does, and takes over at once what an earlier one left behind.
 */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, newId, signal, onError, leaseMs = LEASE_MS } = options;
  const { slots = LIMITS.webhookSlots } = options;
  const { reserved = Math.min(LIMITS.webhookSlotsReserved, Math.floor(slots / 4)) } = options;
  const pools = createSlotPools({
    slots,
    reserved,
    perCustomer: {
      general: options.perCustomer ?? LIMITS.webhookSlotsPerCustomer,
      reserve: LIMITS.webhookReservedPerCustomer,
    },
  });
  const observe = options.observe ?? UNOBSERVED;
  const waker = createWaker(signal);
  const running = new Set<Promise<void>>();
  const isFull = (userId: string, pool: Pool): boolean =>
    pools.free(pool) <= 0 || pools.held(userId, pool) >= pools.share(pool, 1);
  /** What failed when it was tried last: a look for work, or a unit that settles. Only the first failure is told. */
  const failing = new Set<'look' | 'settle'>();
  const fail = (what: 'look' | 'settle', error: unknown): void => {
    if (failing.size === 0) onError(error);
    failing.add(what);
  };
  const context: SlotContext = {
    ...options,
    leaseMs,
    observe,
    beat: createBeat(store.engine === 'sqlite' ? SETTLE_MS : 0),
    interruptions: new Map(),
    onUnit(error) {
      if (error === null) failing.delete('settle');
      else fail('settle', error);
    },
    othersWait: isFull,
  };

  function start(turn: Turn, pool: Pool): void {
    const { userId } = turn;
    pools.take(userId, pool);
    const slot = runSlot(context, turn, pool)
      .catch(onError)
      .finally(() => {
        running.delete(slot);
        pools.giveBack(userId, pool);
        waker.wake();
      });
    running.add(slot);
  }

  /** Those of the waiting webhooks that a free slot may be for. */
  async function waiting(now: number): Promise<Waiting> {
    const holders = new Set([...pools.holders('general'), ...pools.holders('reserve')]);
    const passed = [...holders].filter((userId) => isFull(userId, 'general'));
    const passedFast = passed.filter((userId) => isFull(userId, 'reserve'));
    const find = (isSlow: boolean, without: readonly string[]): Promise<WaitingWebhook[]> =>
      waitingWebhooks(store.read, { now, isSlow, passed: without, limit: WAITING_MAX });
    return {
      fast: await find(false, passedFast),
      slow: pools.free('general') > 0 ? await find(true, passed) : [],
    };
  }

  /** @returns milliseconds until something may be due; 0: there may be more now */
  async function look(): Promise<number> {
    const free = slots - pools.taken();
    if (free <= 0) return LONGEST_SLEEP;
    const now = clock();
    const planned = planTurns(await waiting(now), pools, Math.min(free, CLAIM_MAX));
    if (planned.length === 0) {
      const at = await nextTurnAfter(store.read, now);
      // The end of a slot wakes this loop, so webhooks that wait for one need no look before.
      return at === null ? LONGEST_SLEEP : Math.max(SHORTEST_SLEEP, Math.min(LONGEST_SLEEP, at - clock()));
    }
    const ids = planned.map(({ id }) => id);
    const rules = { leaseMs, schedule: options.schedule, claim: newId(), ids };
    const claimed = await store.write((tx) => claimTurns(tx, { ...rules, now: clock() }));
    for (const turn of claimed.turns) {
      start(turn, planned.find(({ id }) => id === turn.webhookId)?.pool ?? 'general');
    }
    reportEnded(observe, claimed.ended);
    return claimed.seen > 0 ? 0 : HELD_SLEEP;
  }

  let isFresh = store.engine === 'sqlite';
  async function pass(): Promise<number> {
    const began = performance.now();
    if (isFresh) await store.write(forgetClaims);
    isFresh = false;
    const wait = await look();
    failing.delete('look');
    if (wait > 0) await waker.sleep(Math.min(wait, LOOK_SHARE * (performance.now() - began)));
    return wait;
  }

  async function run(): Promise<void> {
    const stopListening = store.onWork('deliveries', () => waker.wake());
    await loop({ signal, waker, pass, onError: (error) => fail('look', error) });
    stopListening();
    await Promise.all(running);
  }

  return { wake: () => waker.wake(), stopped: run() };
}

/** For how many seconds the longest waiting webhook could have had its turn; 0 when none waits. */
export async function oldestDueSeconds(store: Store, now: number): Promise<number> {
  const since = await waitingSince(store.read);
  return since === null ? 0 : Math.max(0, now - since) / 1000;
}
