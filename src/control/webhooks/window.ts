import { LIMITS } from '../../core/limits.ts';

/**
 * The attempts of a webhook in the last hour, by minute, as the JSON text that its row keeps: `[[minute, count], ...]`,
 * ascending, minutes since the epoch. A minute counts whole until all of it is an hour old, so that in no 60 minutes there
 * are more attempts than the limit. Text that is damaged counts as no attempts.
 */
type Minutes = readonly (readonly [minute: number, count: number])[];

const MINUTE_MS = 60_000;
const WINDOW_MINUTES = 60;

/** Whether one more attempt at `nowMs` stays within `LIMITS.webhookAttemptsPerHour`. */
export function roomFor(text: string, nowMs: number): boolean {
  const attempts = live(text, nowMs).reduce((sum, [, count]) => sum + count, 0);
  return attempts < LIMITS.webhookAttemptsPerHour;
}

/** The text with an attempt at `nowMs` counted and what is over left out: at most 61 pairs. */
export function countAttempt(text: string, nowMs: number): string {
  const minutes = live(text, nowMs);
  const now = minuteOf(nowMs);
  const last = minutes.at(-1);
  const counted: Minutes =
    last?.[0] === now ? [...minutes.slice(0, -1), [now, last[1] + 1]] : [...minutes, [now, 1]];
  return JSON.stringify(counted);
}

/** The minutes that still count. Those ahead of a clock that was set back count as the present one, and so end in time. */
function live(text: string, nowMs: number): Minutes {
  const now = minuteOf(nowMs);
  const counts = new Map<number, number>();
  for (const [minute, count] of parse(text)) {
    const at = Math.min(minute, now);
    if (at >= now - WINDOW_MINUTES) counts.set(at, (counts.get(at) ?? 0) + count);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

function parse(text: string): Minutes {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isPair) ? value : [];
  } catch {
    return [];
  }
}

function isPair(value: unknown): value is readonly [number, number] {
  return (
    Array.isArray(value) && value.length === 2 && value.every((one) => Number.isSafeInteger(one) && one >= 0)
  );
}
