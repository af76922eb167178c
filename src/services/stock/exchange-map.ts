/** ISO 10383 codes of the supported exchanges. */
export const MICS = ['XNAS', 'XNYS', 'XASE', 'ARCX', 'BATS', 'IEXG'] as const;
export type Mic = (typeof MICS)[number];

export function isMic(text: string): text is Mic {
  return (MICS as readonly string[]).includes(text);
}

export interface ExchangeMap {
  /** Date of the snapshot, `YYYY-MM-DD`. */
  readonly asof: string;
  /** Source of the snapshot, named by the operator. */
  readonly tag: string;
  /** By upper-case ticker, with a share class after a dot. */
  readonly listed: ReadonlyMap<string, Mic>;
}

const DAY_MS = 86_400_000;
/** Days after which a snapshot is no longer used. */
export const MAP_DAYS_MAX = 120;
/** The date may be tomorrow in this time zone. */
const DAYS_AHEAD = 1;

/** Characters that need no escape in an envelope. */
export const TAG = /^[A-Za-z0-9._-]{1,32}$/;

/** Whether the snapshot is at most 120 days old. `now` in milliseconds since the epoch. */
export function isCurrent(map: ExchangeMap, now: number): boolean {
  const days = Math.floor(now / DAY_MS) - Date.parse(`${map.asof}T00:00:00Z`) / DAY_MS;
  return days <= MAP_DAYS_MAX && days >= -DAYS_AHEAD;
}
