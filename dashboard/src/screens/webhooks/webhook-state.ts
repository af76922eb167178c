import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';

/** `resting`: attempts failed, and nothing is sent for up to a minute. `failing`: attempts failed, and the rest is over. */
export type WebhookState = WebhookResource['health']['state'] | 'resting';

/** Failed attempts in a row that disable a webhook, unless the server says another number. */
export const FAILURES_MAX = 20;

/** Until when nothing is sent, milliseconds since the epoch; null: it does not rest. */
export function restsUntil({ enabled, health }: WebhookResource, now: number): number | null {
  const until = enabled && health.rests_until !== null ? Date.parse(health.rests_until) : 0;
  return until > now ? until : null;
}

export function stateOf(webhook: WebhookResource, now: number): WebhookState {
  const { state } = webhook.health;
  return state === 'failing' && restsUntil(webhook, now) !== null ? 'resting' : state;
}

/** Those that need somebody come first. */
const RANKS = { disabled: 1, failing: 0, resting: 0, unproven: 2, healthy: 3 } as const;

function rankOf({ health }: WebhookResource): number {
  return health.disabled_by === 'failures' ? 0 : RANKS[health.state];
}

/** @param typed part of a name or URL; letters of any case */
export function webhooksInOrder(all: readonly WebhookResource[], typed: string): readonly WebhookResource[] {
  const wanted = typed.trim().toLowerCase();
  return all
    .filter(({ name, url }) => `${name}\n${url}`.toLowerCase().includes(wanted))
    .toSorted((a, b) => rankOf(a) - rankOf(b) || a.name.localeCompare(b.name));
}

/** Host of a URL as its owner wrote it; the URL where there is none. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** When a delivery is attempted: at its own time, or when the webhook's rest is over. Null: it has ended. */
export function attemptAt(next: string | null, { health }: WebhookResource): string | null {
  const rests = health.rests_until;
  return next === null || rests === null || Date.parse(next) >= Date.parse(rests) ? next : rests;
}

/** Whole seconds until a time, at least 0; null: there is no time. */
export function secondsUntil(at: string | null, now: number): number | null {
  return at === null ? null : Math.max(0, Math.ceil((Date.parse(at) - now) / 1000));
}
