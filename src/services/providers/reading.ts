/** Result for a key of a feed. Plain data that crosses threads. Times in milliseconds since the epoch. */
export type Reading<T> =
  | {
      readonly kind: 'value';
      readonly value: T;
      /** The source's time of the value, else the time of the fetch. */
      readonly time: number;
      /** When it was fetched: its age counts from here. */
      readonly at: number;
      /** End of the lifetime: the value is stale from here on (RFC 8767). */
      readonly freshUntil: number;
      /** When the worker should ask again. */
      readonly until: number;
    }
  | { readonly kind: 'missing'; readonly until: number }
  /** No call is allowed now. `retryAfter`: whole seconds, at least 1. */
  | { readonly kind: 'limited'; readonly retryAfter: number }
  /** The fetch is still running. */
  | { readonly kind: 'late' }
  | { readonly kind: 'down' }
  | { readonly kind: 'off' };
