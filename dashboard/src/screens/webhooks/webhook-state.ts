import type { DeliveryResource, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';

/** `resting`: attempts failed, and nothing is sent for up to a minute. `failing`: attempts failed, and the rest is over. */
export type WebhookState = 'healthy' | 'failing' | 'resting' | 'disabled';

/** Failed attempts in a row that disable a webhook, unless the server says another number. */
export const FAILURES_MAX = 20;
const REST_MAX_S = 60;

/**
 * Until when nothing is sent, milliseconds since the epoch; null: it does not rest. After the nth failed attempt in a row a webhook
 * rests 1, 2, 4 ... 60 seconds. A redelivery ends a rest early, which the webhook does not tell.
 */
export function restsUntil(webhook: WebhookResource, now: number): number | null {
  const { enabled, failure_count: failures, last_triggered_at: last } = webhook;
  if (!enabled || failures === 0 || last === null) return null;
  const until = Date.parse(last) + 1000 * Math.min(REST_MAX_S, 2 ** (failures - 1));
  return until > now ? until : null;
}

export function stateOf(webhook: WebhookResource, now: number): WebhookState {
  if (!webhook.enabled) return 'disabled';
  if (webhook.failure_count === 0) return 'healthy';
  return restsUntil(webhook, now) === null ? 'failing' : 'resting';
}

/** How the last deliveries ended, the oldest first. */
export interface Outcomes {
  readonly marks: readonly DeliveryResource['status'][];
  readonly succeeded: number;
}

export function outcomesOf(deliveries: readonly DeliveryResource[]): Outcomes {
  const marks = deliveries.filter(({ event }) => event !== 'webhook.test').map(({ status }) => status);
  return {
    marks: marks.reverse(),
    succeeded: marks.filter((status) => status === 'succeeded').length,
  };
}

/** Whole seconds until a time, at least 0; null: there is no time. */
export function secondsUntil(at: string | null, now: number): number | null {
  return at === null ? null : Math.max(0, Math.ceil((Date.parse(at) - now) / 1000));
}
