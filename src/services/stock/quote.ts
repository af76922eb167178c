/** In US dollars. */
export interface Quote {
  readonly price: number;
  /** Since the previous close; `percent` is the same in percent. */
  readonly change: number;
  readonly percent: number;
  /** Shares traded today; null where the source does not report it. */
  readonly volume: number | null;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  /** Of 52 weeks. */
  readonly yearHigh: number | null;
  readonly yearLow: number | null;
}
