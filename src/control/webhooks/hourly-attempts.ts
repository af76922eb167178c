import { LIMITS } from '../../base/limits.ts';

/**
 * Attempts of a webhook in the last hour: minutes since the epoch, ascending, stored as JSON. A minute counts until all of
 * it is an hour old, so no 60 minutes exceed the limit. Damaged text counts as no attempts.
 */
type Minutes = readonly (readonly [minute: number, count: number])[];

const MINUTE_MS = 60_000;
const WINDOW_MINUTES = 60;

export function mayAttempt(text: string, nowMs: number): boolean {
  return isRoom(live(text, nowMs));
}

/**
 * When an attempt is allowed after `before` others, milliseconds since the epoch: `nowMs`, or as soon as enough minutes are an hour old. Where
 * the others alone reach the limit they are made or dropped first: an hour from now.
 */
export function roomAt(text: string, nowMs: number, before: number): number {
  const now = minuteOf(nowMs);
  const minutes: Minutes = [...live(text, nowMs), [now, before]];
  const full = minutes.findLastIndex((_, index) => !isRoom(minutes.slice(index)));
  const last = minutes[full];
  return last === undefined ? nowMs : (last[0] + WINDOW_MINUTES + 1) * MINUTE_MS;
}

/** Adds an attempt at `nowMs` and drops old minutes: at most 61 pairs. @returns null when the limit is reached */
export function countAttempt(text: string, nowMs: number): string | null {
  const minutes = live(text, nowMs);
  if (!isRoom(minutes)) return null;
  const now = minuteOf(nowMs);
  const last = minutes.at(-1);
  const counted: Minutes =
    last?.[0] === now ? [...minutes.slice(0, -1), [now, last[1] + 1]] : [...minutes, [now, 1]];
  return JSON.stringify(counted);
}

function isRoom(minutes: Minutes): boolean {
  return minutes.reduce((sum, [, count]) => sum + count, 0) < LIMITS.webhookAttemptsPerHour;
}

/** The minutes that still count. Minutes in the future (the clock was set back) count as the present one, so they expire. */
function live(text: string, nowMs: number): Minutes {
  const now = minuteOf(nowMs);
  const minutes = parse(text);
  if (isOrdered(minutes, now)) {
    const first = minutes.findIndex(([minute]) => minute >= now - WINDOW_MINUTES);
    return first < 0 ? [] : minutes.slice(first);
  }
  const counts = new Map<number, number>();
  for (const [minute, count] of minutes) {
    const at = Math.min(minute, now);
    if (at >= now - WINDOW_MINUTES) counts.set(at, (counts.get(at) ?? 0) + count);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

/** Whether the minutes ascend and none is in the future. False only for damaged text or after the clock was set back. */
function isOrdered(minutes: Minutes, now: number): boolean {
  let before = -1;
  for (const [minute] of minutes) {
    if (minute <= before || minute > now) return false;
    before = minute;
  }
  return true;
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
  return Array.isArray(value) && value.length === 2 && isCount(value[0]) && isCount(value[1]);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
