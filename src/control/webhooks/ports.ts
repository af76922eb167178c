import type { DeliveryError, DeliveryEvent } from '../../core/webhooks.ts';
import type { HasClock, HasIds, HasRandom, HasStore } from '../accounts/deps.ts';

/** One request to an endpoint. */
export interface AttemptRequest {
  readonly url: string;
  /** 64 hexadecimal letters: their ASCII octets are the HMAC key (docs/WEBHOOKS.md). */
  readonly signingSecret: string;
  readonly deliveryId: string;
  readonly event: DeliveryEvent;
  readonly body: Uint8Array;
}

/** How one attempt ended. */
export interface AttemptResult {
  /** Null: the endpoint answered with a 2xx. */
  readonly error: DeliveryError | null;
  /** Status of the response, or null without one. */
  readonly responseCode: number | null;
  /** Whole milliseconds. */
  readonly durationMs: number;
  /** Seconds that the endpoint asked to wait (`Retry-After`), or null. */
  readonly retryAfter: number | null;
}

/** Makes one signed POST under one deadline. Rejects only on a fault of this server, which says nothing about the endpoint. */
export type SendAttempt = (request: AttemptRequest) => Promise<AttemptResult>;

/** Encryption of signing secrets at rest. */
export interface SecretEncryption {
  /** @param webhookId binds the ciphertext to this webhook */
  encrypt(webhookId: string, signingSecret: string): Uint8Array;
  /** @throws when the ciphertext was made under another key or for another webhook */
  decrypt(webhookId: string, encrypted: Uint8Array): string;
}

/** What the use cases of webhooks depend on. */
export interface WebhookDeps extends HasStore, HasClock, HasIds, HasRandom {
  readonly encryption: SecretEncryption;
  readonly sendAttempt: SendAttempt;
  /**
   * Checks a URL that a customer gave, DNS resolution included.
   *
   * @returns null when it is allowed, else a static message that begins with the field's name: `url must use https`
   */
  readonly checkUrl: (url: string) => Promise<string | null>;
}
