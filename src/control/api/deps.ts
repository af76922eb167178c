import type { HttpObservation } from '../../core/network/http-observation.ts';
import type { Timers } from '../../lifecycle/timers.ts';
import type { HasSessions, HasZoneLength } from '../accounts/deps.ts';
import type { AnswerEncryption } from '../idempotency/once.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { WebhookDeps } from '../webhooks/ports.ts';
import type { OnFailure } from './answers/errors.ts';

export interface ApiDeps extends WebhookDeps, HasZoneLength, HasSessions {
  /** Encrypts stored answers of POST requests. */
  readonly answers: AnswerEncryption;
  readonly timers: Timers;
  readonly limiter: Limiter;
  /** Origin of absolute URLs, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Proxies whose `X-Forwarded-For` is trusted: addresses, and networks in CIDR form. */
  readonly trustedProxies: readonly string[];
  readonly observe?: (observation: HttpObservation) => void;
  /** Called for faults of the server: the client reads only `Server error`. */
  readonly onError?: OnFailure;
}
