import type { Limiter } from '../limits/limiter.ts';
import type { WebhookDeps } from '../webhooks/ports.ts';

/** One answered request, for metrics: the route's template, never the URL. */
export interface Observation {
  /** Such as `/api/v1/records/:id`; `unmatched` for unknown paths and methods. */
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}

export interface ApiDeps extends WebhookDeps {
  readonly limiter: Limiter;
  readonly observe?: (observation: Observation) => void;
  /** Told of failures that are ours: the caller only learns `Server error`. */
  readonly onError?: (error: unknown) => void;
}
