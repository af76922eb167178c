import type { DeliveryError, DeliveryEvent } from '../../core/webhooks.ts';
import type { Deps } from '../accounts/deps.ts';

/** What is sent, and whereto. */
export interface AttemptRequest {
  readonly url: string;
  /** 64 hexadecimal letters: their ASCII octets are the HMAC key (decisions, section 4). */
  readonly signingSecret: string;
  readonly deliveryId: string;
  readonly event: DeliveryEvent;
  readonly body: Uint8Array;
}

/** How one attempt ended. */
export interface AttemptResult {
  /** Null: it was answered with a 2xx. */
  readonly error: DeliveryError | null;
  /** Status of the response, or null without one. */
  readonly responseCode: number | null;
  /** Whole milliseconds. */
  readonly durationMs: number;
  /** Seconds that the endpoint asked to be left alone (`Retry-After`), or null. */
  readonly retryAfter: number | null;
}

/** One signed POST under one deadline. Rejects only by a fault of our own, which says nothing about the endpoint. */
export type Attempt = (request: AttemptRequest) => Promise<AttemptResult>;

/** Signing secrets at rest. */
export interface SecretSeal {
  /** @param webhookId binds the sealed octets to this webhook */
  seal(webhookId: string, signingSecret: string): Uint8Array;
  /** @throws when the octets were sealed under another key or for another webhook */
  open(webhookId: string, sealed: Uint8Array): string;
}

/** What the use cases of webhooks are handed. */
export interface WebhookDeps extends Deps {
  readonly seal: SecretSeal;
  readonly attempt: Attempt;
  /**
   * Judges a URL that a customer gave, resolution included.
   *
   * @returns null when it is allowed, else a static message that begins with the field's name: `url must use https`
   */
  readonly checkUrl: (url: string) => Promise<string | null>;
}
