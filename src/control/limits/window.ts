/** How many hits a window admits and how long it lasts. */
export interface WindowRule {
  readonly limit: number;
  /** Milliseconds. */
  readonly length: number;
}

/** A key's window: begun by its first hit, at `startedAt` in milliseconds since the epoch. */
export interface Window {
  readonly startedAt: number;
  readonly count: number;
}

/** Whether a window no longer counts. One that lies in the future (the clock was set back) does not count either. */
export function isOver(window: Window, length: number, now: number): boolean {
  return now >= window.startedAt + length || now < window.startedAt;
}

/** The window after one more hit. */
export function hit(window: Window | undefined, length: number, now: number): Window {
  if (window === undefined || isOver(window, length, now)) return { startedAt: now, count: 1 };
  return { startedAt: window.startedAt, count: window.count + 1 };
}

/** The window without a hit that was counted at `takenAt`; unchanged when it began after that. */
export function withoutHit(window: Window, takenAt: number): Window {
  if (window.startedAt > takenAt || window.count === 0) return window;
  return { startedAt: window.startedAt, count: window.count - 1 };
}

/**
 * Judges one more hit without counting it.
 *
 * @returns 0 when there is room, else whole seconds, at least 1, until there is
 */
export function secondsToWait(window: Window | undefined, rule: WindowRule, now: number): number {
  if (window === undefined || isOver(window, rule.length, now) || window.count < rule.limit) return 0;
  return Math.max(1, Math.ceil((window.startedAt + rule.length - now) / 1000));
}
