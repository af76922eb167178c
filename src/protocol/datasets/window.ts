/** Facts of an item hold in windows `[from, to)`. */

/** Unix seconds. Null: open at this side. */
export interface Window {
  readonly from: number | null;
  readonly to: number | null;
}

/** `until`: the second at which time alone may change the selection; null: only another version changes it. */
export type Selection<W extends Window> =
  | { readonly kind: 'window'; readonly window: W; readonly ttl: number; readonly until: number | null }
  | { readonly kind: 'none'; readonly until: number | null };

const TTL = 3600;
/** Of a window that ended more than `SETTLED_MS` ago. */
const SETTLED_TTL = 604_800;
export const SETTLED_MS = 3_600_000;

/**
 * Selects the one window that contains the instant and has begun. More than one gives none: an ambiguous fact is not served.
 * @param asOf unix seconds; null is now. @param nowMs milliseconds since the epoch
 */
export function selectWindow<W extends Window>(
  windows: readonly W[],
  asOf: number | null,
  nowMs: number,
): Selection<W> {
  const now = Math.floor(nowMs / 1000);
  const at = asOf ?? now;
  const until = nextBoundary(windows, now);
  const found = windows.filter((window) => hasBegun(window, now) && contains(window, at));
  const [window] = found;
  if (window === undefined || found.length > 1) return { kind: 'none', until };
  return { kind: 'window', window, ttl: ttlOf(window, nowMs), until };
}

/** Of two windows in the order of their starts: whether they share an instant. */
export function overlap(earlier: Window, later: Window): boolean {
  return earlier.to === null || later.from === null || later.from < earlier.to;
}

/** Orders windows by their starts; one that is open at its start is first. */
export function compareStarts(a: Window, b: Window): number {
  if (a.from === null || b.from === null) return Number(b.from === null) - Number(a.from === null);
  return a.from - b.from;
}

function hasBegun({ from }: Window, now: number): boolean {
  return from === null || from <= now;
}

function contains({ from, to }: Window, at: number): boolean {
  return (from === null || from <= at) && (to === null || at < to);
}

/** The answer must leave caches when the window ends. */
function ttlOf({ to }: Window, nowMs: number): number {
  if (to === null) return TTL;
  const leftMs = to * 1000 - nowMs;
  if (leftMs > 0) return Math.min(TTL, Math.floor(leftMs / 1000));
  return -leftMs > SETTLED_MS ? SETTLED_TTL : TTL;
}

function nextBoundary(windows: readonly Window[], now: number): number | null {
  let next: number | null = null;
  for (const { from, to } of windows) {
    for (const boundary of [from, to]) {
      if (boundary !== null && boundary > now && (next === null || boundary < next)) next = boundary;
    }
  }
  return next;
}
