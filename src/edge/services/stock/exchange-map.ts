/** ISO 10383 codes of the exchanges that a ticker can be pinned to. */
export const MICS = ['XNAS', 'XNYS', 'XASE', 'ARCX', 'BATS', 'IEXG'] as const;
export type Mic = (typeof MICS)[number];

export function isMic(text: string): text is Mic {
  return (MICS as readonly string[]).includes(text);
}

/** A snapshot of which exchange lists which ticker. */
export interface ExchangeMap {
  /** Date of the snapshot, `YYYY-MM-DD`. */
  readonly asof: string;
  /** Where it comes from, as the operator calls it. */
  readonly tag: string;
  /** By ticker, in capitals, a class of shares behind a dot. */
  readonly listed: ReadonlyMap<string, Mic>;
}

const DAY_MS = 86_400_000;
/** Days after which a snapshot says nothing any more. */
export const MAP_DAYS_MAX = 120;
/** Somebody's today may be tomorrow here. */
const DAYS_AHEAD = 1;

/** 1 to 32 letters, digits, `.`, `_`, `-`: what comes through an envelope as it is. */
export const TAG = /^[A-Za-z0-9._-]{1,32}$/;

/** Whether the snapshot may still be told of: at most 120 days old. @param now milliseconds since the epoch */
export function isCurrent(map: ExchangeMap, now: number): boolean {
  const days = Math.floor(now / DAY_MS) - Date.parse(`${map.asof}T00:00:00Z`) / DAY_MS;
  return days <= MAP_DAYS_MAX && days >= -DAYS_AHEAD;
}
