import assert from 'node:assert/strict';
import Stripe from 'stripe';
import { faultOfDelivery } from '../support/http/openapi/delivery-check.ts';
import type { Account } from '../support/server-process.ts';
import type { Arrival } from './receiver.ts';

/** A webhook as the response to its creation shows it. */
export interface Hook {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  readonly signing_secret: string;
}

export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly seq: number | null;
  readonly status: 'pending' | 'succeeded' | 'failed' | 'dropped';
  readonly response_code: number | null;
  readonly error: string | null;
  readonly attempts: number;
}

/** The body of a delivery. */
export interface Told {
  readonly event: string;
  readonly seq: number;
  readonly created_at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export const EVENTS = ['record.upserted', 'record.deleted', 'namespace.upserted', 'namespace.deleted'];

export async function createHook(
  as: Account,
  url: string,
  events: readonly string[] = EVENTS,
): Promise<Hook> {
  const { status, body } = await as.call('POST', '/webhooks', { webhook: { name: 'hook', url, events } });
  assert.equal(status, 201, JSON.stringify(body));
  return body as Hook;
}

export async function deliveriesOf(as: Account, hook: Hook, query = ''): Promise<readonly Delivery[]> {
  const { status, body } = await as.call('GET', `/webhooks/${hook.id}/deliveries${query}`);
  assert.equal(status, 200);
  return (body as { deliveries: readonly Delivery[] }).deliveries;
}

/** The body of an arrival, after the `stripe` package has verified its signature. */
export function verified(arrival: Arrival, signingSecret: string): Told {
  const header = arrival.headers['x-service-signature'] ?? '';
  const good = Stripe.webhooks.signature?.verifyHeader(arrival.body, header, signingSecret, 300);
  assert.equal(good, true);
  assert.equal(faultOfDelivery(arrival.body), null);
  return JSON.parse(arrival.body) as Told;
}

/** Asks again until the condition holds. @throws after `seconds` */
export async function until(what: string, holds: () => Promise<boolean>, seconds = 90): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
