import type { SecretEncryption } from '../../base/secret-encryption.ts';
import type { DeliveryError, DeliveryEvent } from '../../protocol/webhooks.ts';
import type { HasClock, HasIds, HasRandom, HasStore } from '../accounts/deps.ts';

export interface AttemptRequest {
  readonly url: string;
  /** 64 hexadecimal letters: their ASCII octets are the HMAC key (docs/WEBHOOKS.md). */
  readonly signingSecret: string;
  readonly deliveryId: string;
  readonly event: DeliveryEvent;
  readonly body: Uint8Array;
}

export interface AttemptResult {
  readonly error: DeliveryError | null;
  /** Status of the response, or null without one. */
  readonly responseCode: number | null;
  readonly durationMs: number;
  /** Seconds that the endpoint asked to wait (`Retry-After`), or null. */
  readonly retryAfter: number | null;
}

/** Makes one signed POST under one deadline. Rejects only on a fault of this server. */
export type SendAttempt = (request: AttemptRequest) => Promise<AttemptResult>;

export interface WebhookDeps extends HasStore, HasClock, HasIds, HasRandom {
  readonly encryption: SecretEncryption;
  readonly sendAttempt: SendAttempt;
  /** Checks a customer's URL, with DNS. @returns null when allowed, else a static message: `url must use https` */
  readonly checkUrl: (url: string) => Promise<string | null>;
}
