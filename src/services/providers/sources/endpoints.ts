/** Base URL of a provider; null: not used. */
export type Base = string | null;

export interface KeyedEndpoint {
  readonly base: string;
  readonly key: string;
}

export interface Endpoints {
  readonly openmeteo: Base;
  readonly metno: Base;
  readonly frankfurter: Base;
  readonly ecb: Base;
  readonly coinbase: Base;
  readonly kraken: Base;
  /** Null without a key. */
  readonly twelvedata: KeyedEndpoint | null;
  readonly finnhub: KeyedEndpoint | null;
}
