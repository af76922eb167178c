/** What is known of a key of a feed. Plain data. Times are milliseconds since the epoch. */
export type Reading<T> =
  | {
      readonly kind: 'value';
      readonly value: T;
      /** When it was fetched. */
      readonly at: number;
      /** When it should be asked for again. */
      readonly until: number;
      /** `old`: past its lifetime, another is on its way. `stale`: there is no other to be had. */
      readonly age: 'fresh' | 'old' | 'stale';
    }
  /** The provider says that there is no such thing. */
  | { readonly kind: 'missing'; readonly until: number }
  /** No call is allowed at present. `retryAfter` is whole seconds, at least 1. */
  | { readonly kind: 'limited'; readonly retryAfter: number }
  /** Still being fetched. */
  | { readonly kind: 'late' }
  | { readonly kind: 'down' }
  /** No source is configured. */
  | { readonly kind: 'off' };
