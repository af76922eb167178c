import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../base/clock.ts';
import { backoffMs } from '../../../base/lifecycle/backoff.ts';
import { LIMITS } from '../../../base/limits.ts';
import type { SecretEncryption } from '../../../base/secret-encryption.ts';
import type { DeliveryError, DeliveryStatus } from '../../../protocol/webhooks.ts';
import type { Store } from '../../../store/store.ts';
import type { DeliveryAttempt, EndedCounts } from '../delivery/delivery-attempt.ts';
import { webhookBackoffMs } from '../delivery/retry-delays.ts';
import { AttemptInterruptedError } from '../delivery/send-attempt.ts';
import { cancelAttempt, type Settled, settleAttempt } from '../delivery/settle.ts';
import type { AttemptResult, SendAttempt } from '../ports.ts';
import type { PoolName } from './worker-pools.ts';

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

export interface WorkerContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly sendAttempt: SendAttempt;
  readonly encryption: Pick<SecretEncryption, 'decrypt'>;
  readonly schedule: readonly number[];
  readonly leaseMs: number;
  readonly signal: AbortSignal;
  readonly observe: DispatchObserver;
  /** Delays a settlement, so that attempts that end at about the same time share one commit. */
  readonly commitDelay: () => Promise<void>;
  readonly onError: (error: unknown) => void;
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
  const until = performance.now() + SERVICE_MS;
  let attempt: DeliveryAttempt | null = first;
  for (let deliveries = 1; attempt !== null; deliveries++) {
    const isLast: boolean = deliveries >= DELIVERIES_MAX || performance.now() >= until;
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
  const leaseEnds = performance.now() + context.leaseMs;
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
      if (context.signal.aborted || performance.now() >= leaseEnds) return null;
    }
    await sleep(backoffMs(failures, UNIT_BACKOFF));
  }
}

function report(observe: DispatchObserver, settled: Settled, seconds: number): void {
  const { status, isDisabled } = settled;
  if (status !== null && status !== 'pending') observe.ended(status, 1);
  if (status === 'succeeded') observe.arrived(seconds);
  if (isDisabled) observe.disabled();
  reportEnded(observe, settled.ended);
}

export function reportEnded(observe: DispatchObserver, { failed, dropped }: EndedCounts): void {
  if (failed > 0) observe.ended('failed', failed);
  if (dropped > 0) observe.ended('dropped', dropped);
}
