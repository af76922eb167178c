import { TIERS } from '../../../core/tiers.ts';
import type { DeliveryEvent, DeliveryStatus } from '../../../core/webhooks.ts';
import type { Tx } from '../../store/store.ts';
import * as rows from '../../store/webhooks/dispatch.ts';
import * as leases from '../../store/webhooks/leases.ts';
import type { AttemptResult } from '../ports.ts';
import { countAttempt } from './hourly-attempts.ts';
import { judge } from './retry-policy.ts';

/** A webhook leased to us, and the one delivery that is to be attempted under the lease. Its attempt is counted already. */
export interface Turn {
  /** The lease's name. */
  readonly claim: string;
  readonly webhookId: string;
  readonly userId: string;
  readonly url: string;
  /** As sealed at rest, of this moment. */
  readonly sealedSecret: Uint8Array;
  readonly deliveryId: string;
  readonly event: DeliveryEvent;
  readonly body: Uint8Array;
  /** Which attempt of the delivery it is, from 1. */
  readonly attempt: number;
  /** When the delivery was enqueued, milliseconds since the epoch. */
  readonly createdAt: number;
}

export interface TurnRules {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Milliseconds until anybody may claim the webhook, unless the lease is renewed. */
  readonly leaseMs: number;
  /** Seconds before each attempt. */
  readonly schedule: readonly number[];
}

/** Deliveries that ended without an attempt, or because their webhook was disabled. */
export interface Ended {
  readonly failed: number;
  readonly dropped: number;
}

export interface ClaimRules extends TurnRules {
  /** Names the new leases. Never used before. */
  readonly claim: string;
  /** Webhooks to claim, at least one; in this order. */
  readonly ids: readonly string[];
}

export interface Claimed {
  readonly turns: readonly Turn[];
  readonly ended: Ended;
  /** Webhooks that were held. None: another process holds all of them just now. */
  readonly seen: number;
}

/** Claims those of some webhooks that have something due and takes the first delivery of each, in the caller's unit of work. */
export async function claimTurns(tx: Tx, rules: ClaimRules): Promise<Claimed> {
  const hooks = await leases.holdClaimable(tx, rules.now, rules.ids);
  const place = (hook: leases.HeldWebhook): number => rules.ids.indexOf(hook.id);
  const turns: Turn[] = [];
  const ended: Ended[] = [];
  for (const hook of hooks.toSorted((a, b) => place(a) - place(b))) {
    const begun = await begin(tx, hook, rules.claim, rules, {});
    ended.push(begun.ended);
    if (begun.turn !== null) turns.push(begun.turn);
  }
  return { turns, ended: sum(ended), seen: hooks.length };
}

export interface SettleRules extends TurnRules {
  /** 0 up to 1: spreads the next attempt. */
  readonly random: number;
  /** Whether the webhook's next delivery is taken at once, or the lease given back. */
  readonly goOn: boolean;
}

export interface Settled {
  /** How the delivery stands now; null when nothing was written of it, for it had ended meanwhile. */
  readonly status: DeliveryStatus | null;
  readonly isDisabled: boolean;
  readonly ended: Ended;
  /** The webhook's next delivery, under the renewed lease. Null: the lease is given back. */
  readonly next: Turn | null;
}

/**
 * Writes the result of an attempt to its delivery and its webhook, and goes on to the next delivery or gives the lease
 * back, in the caller's unit of work. It may run again when the caller does not know whether the unit was committed: a
 * repeat changes nothing and returns the next turn of the first run.
 *
 * @returns null, with nothing written, when the lease is lost: the webhook was disabled, deleted or claimed by another
 */
export async function settleTurn(
  tx: Tx,
  turn: Turn,
  result: AttemptResult,
  rules: SettleRules,
): Promise<Settled | null> {
  const hook = await leases.holdClaimed(tx, turn.webhookId, turn.claim);
  if (hook === null) return null;
  const { attempt } = turn;
  // The first run has begun the next delivery under the same lease.
  if (hook.claimed_delivery !== null && hook.claimed_delivery !== turn.deliveryId) {
    const begun = await rows.begunDelivery(tx, hook.claimed_delivery);
    if (begun !== null) {
      return { status: null, isDisabled: false, ended: NOTHING, next: turnOf(hook, turn.claim, begun) };
    }
  }
  const verdict = judge(result, { ...rules, attempt, failuresBefore: hook.failure_count });
  const { status, error, responseCode, durationMs, nextAttemptAt } = verdict.delivery;
  const wasWaiting = await rows.recordOutcome(tx, turn.deliveryId, attempt, {
    status,
    error,
    response_code: responseCode,
    duration_ms: durationMs,
    next_attempt_at: nextAttemptAt,
  });
  if (!wasWaiting) {
    // It ended for another reason while the attempt was under way: the result says nothing about the webhook.
    const begun = await beginOrRelease(tx, hook, turn.claim, rules, {}, rules.goOn);
    return { status: null, isDisabled: false, ended: begun.ended, next: begun.turn };
  }
  if (verdict.isDisabled) {
    const failed = await disable(tx, hook.id, verdict.failures, rules.now);
    return { status, isDisabled: true, ended: { failed, dropped: 0 }, next: null };
  }
  const change = {
    failure_count: verdict.failures,
    rests_until: verdict.restsUntil,
    last_attempt_ms: durationMs,
  };
  const goOn = rules.goOn && verdict.restsUntil <= rules.now;
  const begun = await beginOrRelease(tx, hook, turn.claim, rules, change, goOn);
  return { status, isDisabled: false, ended: begun.ended, next: begun.turn };
}

/**
 * Gives back a turn whose attempt was not made, as if it had not been taken.
 *
 * @param restsUntil nothing is sent to the webhook before this time; null: at once again
 */
export async function giveBack(tx: Tx, turn: Turn, now: number, restsUntil: number | null): Promise<void> {
  const hook = await leases.holdClaimed(tx, turn.webhookId, turn.claim);
  if (hook === null) return;
  await rows.takeBackAttempt(tx, turn.deliveryId, turn.attempt);
  await release(tx, hook, now, restsUntil === null ? {} : { rests_until: restsUntil });
}

interface Begun {
  readonly turn: Turn | null;
  readonly ended: Ended;
}

const NOTHING: Ended = { failed: 0, dropped: 0 };

/** What an attempt makes of its webhook. */
type WebhookUpdate = Partial<Pick<leases.HeldWebhook, 'failure_count' | 'rests_until' | 'last_attempt_ms'>>;

async function beginOrRelease(
  tx: Tx,
  hook: leases.HeldWebhook,
  claim: string,
  rules: TurnRules,
  change: WebhookUpdate,
  goOn: boolean,
): Promise<Begun> {
  if (goOn) return begin(tx, hook, claim, rules, change);
  await release(tx, hook, rules.now, change);
  return { turn: null, ended: NOTHING };
}

/** Takes the first due delivery that may be attempted and writes the lease; where there is none, gives the lease back. */
async function begin(
  tx: Tx,
  hook: leases.HeldWebhook,
  claim: string,
  rules: TurnRules,
  change: WebhookUpdate,
): Promise<Begun> {
  const { now, leaseMs } = rules;
  const state = stateAfter(hook, change);
  const attempt_minutes = TIERS[hook.tier].webhooks === 0 ? null : countAttempt(hook.attempt_minutes, now);
  const { delivery, ended, nextDueAt } = await firstToAttempt(tx, hook, rules, attempt_minutes !== null);
  if (delivery === null || attempt_minutes === null) {
    await leases.endLease(tx, { id: hook.id, now, next_due_at: nextDueAt, ...state });
    return { turn: null, ended };
  }
  await leases.saveLease(tx, {
    id: hook.id,
    claim,
    claimed_delivery: delivery.id,
    claimed_until: now + leaseMs,
    now,
    next_due_at: delivery.next_attempt_at,
    ...state,
    attempt_minutes,
  });
  return { turn: turnOf(hook, claim, delivery), ended };
}

function turnOf(hook: leases.HeldWebhook, claim: string, delivery: rows.BegunDelivery): Turn {
  return {
    claim,
    webhookId: hook.id,
    userId: hook.user_id,
    url: hook.url,
    sealedSecret: hook.signing_secret,
    deliveryId: delivery.id,
    event: delivery.event,
    body: delivery.body,
    attempt: delivery.attempts,
    createdAt: delivery.created_at,
  };
}

function stateAfter(hook: leases.HeldWebhook, change: WebhookUpdate): Required<WebhookUpdate> {
  const { failure_count, rests_until, last_attempt_ms } = hook;
  return { failure_count, rests_until, last_attempt_ms, ...change };
}

type First =
  | { readonly delivery: rows.BegunDelivery; readonly ended: Ended; readonly nextDueAt: null }
  | { readonly delivery: null; readonly ended: Ended; readonly nextDueAt: number | null };

/** Ends what may not be attempted (any more) until something may, whose attempt it counts, or nothing is due. */
async function firstToAttempt(
  tx: Tx,
  hook: leases.HeldWebhook,
  { now, schedule }: TurnRules,
  mayAttempt: boolean,
): Promise<First> {
  const webhookId = hook.id;
  let failed = 0;
  let dropped = 0;
  for (;;) {
    const delivery = mayAttempt
      ? await rows.beginFirst(tx, { webhookId, now, attemptsMax: schedule.length })
      : null;
    if (delivery !== null) return { delivery, ended: { failed, dropped }, nextDueAt: null };
    const first = await rows.firstWaiting(tx, webhookId);
    if (first === null || first.next_attempt_at > now) {
      return { delivery: null, ended: { failed, dropped }, nextDueAt: first?.next_attempt_at ?? null };
    }
    if (TIERS[hook.tier].webhooks === 0) {
      const end = { status: 'failed', error: 'webhook_disabled' } as const;
      failed += await rows.endDeliveries(tx, webhookId, end, now);
    } else if (first.attempts >= schedule.length || !first.has_body) {
      // Whoever made its last attempt died over it: nobody knows what came of that.
      await rows.endDelivery(tx, first.id, { status: 'failed', error: 'timeout' });
      failed++;
    } else if (!mayAttempt) {
      const end = { status: 'dropped', error: 'rate_limited' } as const;
      dropped += await rows.endDeliveries(tx, webhookId, end, now);
    }
    // What is left was enqueued between the two looks, as PostgreSQL lets it be.
  }
}

/** The time of the next delivery is read while the row is held: whatever is enqueued later moves it then. */
async function release(tx: Tx, hook: leases.HeldWebhook, now: number, change: WebhookUpdate): Promise<void> {
  const first = await rows.firstWaiting(tx, hook.id);
  const next_due_at = first?.next_attempt_at ?? null;
  await leases.endLease(tx, { id: hook.id, now, next_due_at, ...stateAfter(hook, change) });
}

/** @returns waiting deliveries that failed with it */
async function disable(tx: Tx, id: string, failures: number, now: number): Promise<number> {
  const end = { status: 'failed', error: 'webhook_disabled' } as const;
  const failed = await rows.endDeliveries(tx, id, end, null);
  await leases.disableWebhook(tx, id, failures, now);
  return failed;
}

function sum(all: readonly Ended[]): Ended {
  return all.reduce(
    (total, one) => ({ failed: total.failed + one.failed, dropped: total.dropped + one.dropped }),
    NOTHING,
  );
}
