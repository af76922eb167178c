/**
 * What the attempts of a webhook say of its endpoint, stored as JSON in its row: written by the unit that settles an attempt, read by the API.
 * Pure. Damaged text counts as nothing known.
 */
import { LIMITS } from '../../base/limits.ts';
import { isJsonObject } from '../../protocol/input/fields.ts';
import { DELIVERY_ERRORS, type DeliveryError } from '../../protocol/webhooks.ts';

/** Times are milliseconds since the epoch. */
export interface WebhookHealth {
  /** The first failed attempt of those in a row; null: the last attempt succeeded, or there was none since it was made or enabled. */
  readonly failingSince: number | null;
  /** Null: no attempt has succeeded since the webhook was made, enabled, or given another URL. */
  readonly succeededAt: number | null;
  readonly failedAt: number | null;
  /** Of the last failed attempt. */
  readonly error: DeliveryError | null;
  readonly responseCode: number | null;
  /** The last attempts, the oldest first. */
  readonly recent: readonly Attempt[];
}

interface Attempt {
  readonly ok: boolean;
  /** Milliseconds. */
  readonly ms: number;
}

interface AttemptOutcome {
  readonly error: DeliveryError | null;
  readonly responseCode: number | null;
  readonly durationMs: number;
}

export function readHealth(text: string): WebhookHealth {
  const fields = parse(text);
  const { bad, code, error, good, recent, since } = fields;
  return {
    failingSince: numberOf(since),
    succeededAt: numberOf(good),
    failedAt: numberOf(bad),
    error: DELIVERY_ERRORS.find((known) => known === error) ?? null,
    responseCode: numberOf(code),
    recent: Array.isArray(recent) ? recent.filter(Number.isSafeInteger).map(attemptOf) : [],
  };
}

/** The text after an attempt that ended at `now`. */
export function afterAttempt(
  text: string,
  { error, responseCode, durationMs }: AttemptOutcome,
  now: number,
): string {
  const before = readHealth(text);
  const recent = [...before.recent, { ok: error === null, ms: durationMs }].slice(-LIMITS.webhookRecent);
  if (error === null) return write({ ...before, failingSince: null, succeededAt: now, recent });
  const failingSince = before.failingSince ?? now;
  return write({ ...before, failingSince, failedAt: now, error, responseCode, recent });
}

/**
 * The text of a webhook that got another URL: nothing succeeded there yet. Its failures stay counted, and so does since when they go on, for
 * no event of that time arrived.
 */
export function afterNewUrl(text: string): string {
  return write({ ...readHealth(text), succeededAt: null, recent: [] });
}

/** The text of a webhook that was enabled: what failed last stays, and nothing succeeded or failed yet. */
export function afterEnabling(text: string): string {
  return write({ ...readHealth(text), failingSince: null, succeededAt: null, recent: [] });
}

/** Share of the last attempts that succeeded, and the duration that 95 of 100 did not exceed; null: nothing was attempted. */
export function recentOf({ recent }: WebhookHealth) {
  const ordered = recent.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return {
    attempts: recent.length,
    succeeded: recent.filter(({ ok }) => ok).length,
    p95_ms: ordered[Math.ceil(0.95 * ordered.length) - 1] ?? null,
  };
}

/** A failed attempt is stored as -1 - ms, so that 0 ms can fail too. */
function attemptOf(stored: number): Attempt {
  return stored >= 0 ? { ok: true, ms: stored } : { ok: false, ms: -1 - stored };
}

function write({ failingSince, succeededAt, failedAt, error, responseCode, recent }: WebhookHealth): string {
  const stored = recent.map(({ ok, ms }) => (ok ? ms : -1 - ms));
  const fields = { since: failingSince, good: succeededAt, bad: failedAt, error, code: responseCode };
  const known = Object.entries(fields).filter(([, value]) => value !== null);
  return JSON.stringify({ ...Object.fromEntries(known), ...(stored.length > 0 && { recent: stored }) });
}

function numberOf(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
