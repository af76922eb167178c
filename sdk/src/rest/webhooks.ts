import type { CallOptions, Http, PostOptions } from './http/http.ts';
import { Listing } from './http/pages.ts';
import type { NewWebhook, WebhookPatch } from './requests.ts';
import type {
  DeliveryResource,
  DeliveryStatus,
  EventDescription,
  WebhookResource,
  WebhookWithSecrets,
} from './resources.ts';

export interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  /** `attempted`: those that wait for their first attempt come last, the next one first. Not with `status`. */
  readonly order?: 'created' | 'attempted' | undefined;
}

export interface DeliveryListOptions extends CallOptions {
  /** Deliveries for each request, 1 to 100. Default 50. */
  readonly limit?: number | undefined;
}

interface DeliveryPage {
  readonly deliveries: readonly DeliveryResource[];
  readonly meta: { readonly limit: number; readonly next_cursor: string | null; readonly has_more: boolean };
}

export class Webhooks {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async list(options: CallOptions = {}): Promise<readonly WebhookResource[]> {
    return (await this.#http.json<WebhookResource[]>({ method: 'GET', path: '/webhooks', ...options })).body;
  }

  async get(id: string, options: CallOptions = {}): Promise<WebhookResource> {
    return (await this.#http.json<WebhookResource>({ method: 'GET', path: pathOf(id), ...options })).body;
  }

  /** The answer has the signing secret. */
  async create(webhook: NewWebhook, options: PostOptions = {}): Promise<WebhookWithSecrets> {
    const parts = { method: 'POST', path: '/webhooks', body: { webhook }, ...options } as const;
    return (await this.#http.json<WebhookWithSecrets>(parts)).body;
  }

  async update(id: string, webhook: WebhookPatch, options: CallOptions = {}): Promise<WebhookResource> {
    const parts = { method: 'PATCH', path: pathOf(id), body: { webhook }, ...options } as const;
    return (await this.#http.json<WebhookResource>(parts)).body;
  }

  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json({ method: 'DELETE', path: pathOf(id), ...options });
  }

  /** Replaces both secrets. The old ones are invalid at once, for waiting deliveries too. */
  async rotateSecret(id: string, options: PostOptions = {}): Promise<WebhookWithSecrets> {
    const parts = { method: 'POST', path: `${pathOf(id)}/regenerate_secret`, ...options } as const;
    return (await this.#http.json<WebhookWithSecrets>(parts)).body;
  }

  /** Sends one `webhook.test` now. The delivery says how the endpoint answered. */
  async test(id: string, options: PostOptions = {}): Promise<DeliveryResource> {
    const parts = { method: 'POST', path: `${pathOf(id)}/test`, ...options } as const;
    return (await this.#http.json<{ delivery: DeliveryResource }>(parts)).body.delivery;
  }

  /** Newest first unless `order` says otherwise, read in pages while they are iterated. */
  deliveries(
    id: string,
    filter: DeliveryFilter = {},
    options: DeliveryListOptions = {},
  ): Listing<DeliveryResource> {
    const { limit, ...call } = options;
    return new Listing(async (cursor) => {
      const query = { ...filter, limit, cursor };
      const parts = { method: 'GET', path: `${pathOf(id)}/deliveries`, query, ...call } as const;
      const { body } = await this.#http.json<DeliveryPage>(parts);
      return { items: body.deliveries, next: body.meta.next_cursor };
    });
  }

  /** Makes a delivery that waits due now. */
  async redeliver(id: string, deliveryId: string, options: PostOptions = {}): Promise<DeliveryResource> {
    const path = `${pathOf(id)}/deliveries/${encodeURIComponent(deliveryId)}/redeliver`;
    return (await this.#http.json<{ delivery: DeliveryResource }>({ method: 'POST', path, ...options })).body
      .delivery;
  }

  /** Events that a webhook can subscribe to. */
  async events(options: CallOptions = {}): Promise<readonly EventDescription[]> {
    const parts = { method: 'GET', path: '/webhooks/events', ...options } as const;
    return (await this.#http.json<{ events: EventDescription[] }>(parts)).body.events;
  }
}

function pathOf(id: string): string {
  return `/webhooks/${encodeURIComponent(id)}`;
}
