/** Events that a customer can subscribe to. */
export const WEBHOOK_EVENTS = {
  'record.upserted': 'A record was created or updated',
  'record.deleted': 'A record was deleted, directly or with its namespace; not when it expired',
  'namespace.upserted': 'A namespace was created or updated',
  'namespace.deleted': 'A namespace was deleted',
} as const;

export type WebhookEvent = keyof typeof WEBHOOK_EVENTS;

/** `webhook.test` is sent for `POST /webhooks/:id/test`. */
export type DeliveryEvent = WebhookEvent | 'webhook.test';

export function isWebhookEvent(value: unknown): value is WebhookEvent {
  return typeof value === 'string' && Object.hasOwn(WEBHOOK_EVENTS, value);
}

/** `pending` waits for its next attempt; the others have ended. */
export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed', 'dropped'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Why a delivery or its last attempt failed. A closed set: customers never see what an endpoint said. */
export const DELIVERY_ERRORS = [
  'timeout',
  'dns_failure',
  'connection_failed',
  'tls_error',
  'blocked_address',
  'http_status',
  'redirect',
  'payload_too_large',
  'rate_limited',
  'webhook_disabled',
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];
