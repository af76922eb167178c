import type { HttpObservation } from '../../core/http-observation.ts';
import type { Timers } from '../../lifecycle/timers.ts';
import type { HasSessions, HasZoneLength } from '../accounts/deps.ts';
import type { AnswerEncryption } from '../idempotency/once.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { WebhookDeps } from '../webhooks/ports.ts';
import type { OnFailure } from './answers/errors.ts';

export interface ApiDeps extends WebhookDeps, HasZoneLength, HasSessions {
  /** Encrypts the answers that a repeated POST gets again. */
  readonly answers: AnswerEncryption;
  readonly timers: Timers;
  readonly limiter: Limiter;
  /** Origin under which clients reach the API, without a slash at its end. Asked for each absolute URL of an answer. */
  readonly publicUrl: () => string;
  /** Proxies whose `X-Forwarded-For` counts: addresses, and networks in CIDR form. */
  readonly trustedProxies: readonly string[];
  readonly observe?: (observation: HttpObservation) => void;
  /** Called with failures that are the server's fault: the client reads only `Server error`. */
  readonly onError?: OnFailure;
}
