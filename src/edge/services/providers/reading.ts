/** What a service gets for a key of a feed. Plain data: it crosses threads. Times are milliseconds since the epoch. */
export type Reading<T> =
  | {
      readonly kind: 'value';
      readonly value: T;
      /** The source's own time of the value; the time of the fetch where the source gives none. */
      readonly time: number;
      /** When it was fetched: its age counts from here. */
      readonly at: number;
      /** End of its lifetime. From here on the value is stale (RFC 8767). */
      readonly freshUntil: number;
      /** When the worker should ask for it again. */
      readonly until: number;
    }
  /** The provider reports that there is no such thing. */
  | { readonly kind: 'missing'; readonly until: number }
  /** No call is allowed at present. `retryAfter` is whole seconds, at least 1. */
  | { readonly kind: 'limited'; readonly retryAfter: number }
  /** Still being fetched. */
  | { readonly kind: 'late' }
  | { readonly kind: 'down' }
  /** No source is configured. */
  | { readonly kind: 'off' };
