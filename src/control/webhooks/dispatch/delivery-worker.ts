import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { DeliveryError, DeliveryStatus } from '../../../core/webhooks.ts';
import type { Store } from '../../store/store.ts';
import { type Ended, giveBack, type Settled, settleTurn, type Turn } from '../delivery/delivery-attempt.ts';
import { restMs } from '../delivery/retry-delays.ts';
import { AttemptInterruptedError } from '../delivery/send-attempt.ts';
import type { Attempt, AttemptResult, SecretSeal } from '../ports.ts';
import type { Pool } from './worker-pools.ts';

/** A webhook that others wait behind keeps its slot for so many deliveries, and so long, at most. */
const TURN_DELIVERIES = 16;
const TURN_MS = 1000;

/** Pauses before a unit that failed is run again, milliseconds. */
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 1000;

/** Told of what happens, for metrics. Must not throw. */
export interface DispatchObserver {
  /** An attempt that was made. @param seconds that it took */
  attempted(error: DeliveryError | 'none', seconds: number): void;
  /** Deliveries that ended, by an attempt or without one. */
  ended(status: Exclude<DeliveryStatus, 'pending'>, deliveries: number): void;
  /** A delivery was answered with a 2xx. @param seconds since it was enqueued */
  arrived(seconds: number): void;
  /** A webhook failed too often in a row. */
  disabled(): void;
}

/** What the slots of a dispatcher share. */
export interface SlotContext {
  readonly store: Store;
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  readonly attempt: Attempt;
  readonly seal: Pick<SecretSeal, 'open'>;
  readonly schedule: readonly number[];
  readonly leaseMs: number;
  readonly signal: AbortSignal;
  readonly observe: DispatchObserver;
  /** Lets what is settled at about the same time share a commit. */
  readonly beat: () => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Told how a unit of work ended: null when it succeeded, else what it failed of. */
  readonly onUnit: (error: unknown) => void;
  /** Attempts in a row, by webhook, during which our own thread ended: one that ends it each time must not do so at once again. */
  readonly interruptions: Map<string, number>;
  /** Whether another webhook may be waiting for a slot that this customer's webhook has in a pool. */
  readonly othersWait: (userId: string, pool: Pool) => boolean;
}

/**
 * Attempts the delivery of a turn, settles it and goes on with the webhook's next, as long as it may. Resolves when the
 * lease is given back or lost; never rejects. Once the signal is aborted it only ends what it is at.
 */
export async function runSlot(context: SlotContext, first: Turn, pool: Pool): Promise<void> {
  const until = performance.now() + TURN_MS;
  let turn: Turn | null = first;
  for (let deliveries = 1; turn !== null; deliveries++) {
    const isLast: boolean = deliveries >= TURN_DELIVERIES || performance.now() >= until;
    turn = await runTurn(context, turn, pool, isLast);
  }
}

/** @returns the webhook's next turn, or null when the slot is free */
async function runTurn(context: SlotContext, turn: Turn, pool: Pool, isLast: boolean): Promise<Turn | null> {
  const { store, clock, signal, observe } = context;
  const leaseEnds = performance.now() + context.leaseMs;
  if (signal.aborted) {
    await insist(context, leaseEnds, () => store.write((tx) => giveBack(tx, turn, clock(), null)));
    return null;
  }
  const result = await attemptOnce(context, turn);
  if ('restMs' in result) {
    // The fault is ours, not the endpoint's: nothing is counted, and the attempt is repeated after a rest.
    const rest = (): number => clock() + result.restMs;
    await insist(context, leaseEnds, () => store.write((tx) => giveBack(tx, turn, clock(), rest())));
    return null;
  }
  const arrivedAt = clock();
  observe.attempted(result.error ?? 'none', result.durationMs / 1000);
  await context.beat();
  const settled = await insist(context, leaseEnds, () => {
    const { leaseMs, schedule } = context;
    // The reserve is for fast endpoints alone.
    const mayStay = pool === 'general' || result.durationMs < LIMITS.webhookFastMs;
    const goOn = !signal.aborted && mayStay && !(isLast && context.othersWait(turn.userId, pool));
    const rules = { now: clock(), leaseMs, schedule, random: context.random(), goOn };
    return store.write((tx) => settleTurn(tx, turn, result, rules));
  });
  if (settled === null) return null;
  report(observe, settled, (arrivedAt - turn.createdAt) / 1000);
  return settled.next;
}

/** No attempt could be made, by a fault of our own. */
interface Unmade {
  /** Milliseconds until it is tried again. */
  readonly restMs: number;
}

async function attemptOnce(context: SlotContext, turn: Turn): Promise<AttemptResult | Unmade> {
  const { interruptions } = context;
  try {
    const { webhookId, url, deliveryId, event, body } = turn;
    const signingSecret = context.seal.open(webhookId, turn.sealedSecret);
    const result = await context.attempt({ url, signingSecret, deliveryId, event, body });
    interruptions.delete(webhookId);
    return result;
  } catch (error) {
    if (!(error instanceof AttemptInterruptedError)) {
      context.onError(error);
      return { restMs: LIMITS.webhookRestMaxMs };
    }
    const count = (interruptions.get(turn.webhookId) ?? 0) + 1;
    interruptions.set(turn.webhookId, count);
    return { restMs: restMs(count) };
  }
}

/**
 * Runs a unit again while it fails and the lease lasts. Afterwards the webhook is anybody's: the delivery is then attempted
 * once more, under the same id.
 *
 * @returns null when the unit did not succeed
 */
async function insist<T>(context: SlotContext, leaseEnds: number, unit: () => Promise<T>): Promise<T | null> {
  for (let failures = 0; ; failures++) {
    try {
      const done = await unit();
      context.onUnit(null);
      return done;
    } catch (error) {
      context.onUnit(error);
      if (context.signal.aborted || performance.now() >= leaseEnds) return null;
    }
    await sleep(Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** failures));
  }
}

function report(observe: DispatchObserver, settled: Settled, seconds: number): void {
  const { status, isDisabled } = settled;
  if (status !== null && status !== 'pending') observe.ended(status, 1);
  if (status === 'succeeded') observe.arrived(seconds);
  if (isDisabled) observe.disabled();
  reportEnded(observe, settled.ended);
}

/** Tells of deliveries that ended without an attempt. */
export function reportEnded(observe: DispatchObserver, { failed, dropped }: Ended): void {
  if (failed > 0) observe.ended('failed', failed);
  if (dropped > 0) observe.ended('dropped', dropped);
}
