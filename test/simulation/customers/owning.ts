import type { RestAnswer } from '../model/told.ts';
import type { Random } from '../random.ts';
import { type Customer, pickFrom } from './customer.ts';

/** @returns the answer to a success, else null */
type Send = (customer: Customer, method: string, path: string, body?: object) => Promise<RestAnswer | null>;

interface Owning {
  create(customer: Customer): Promise<void>;
  /** It is switched, narrowed, moved, given new secrets, or deleted. */
  change(customer: Customer): Promise<void>;
  /** A delivery that waits is sent now. */
  hurry(customer: Customer): Promise<void>;
}

const EVENTS = ['record.upserted', 'record.deleted', 'namespace.upserted', 'namespace.deleted'];

/**
 * What the owner of webhooks does with them.
 * @param newUrl of an endpoint that no other webhook has
 */
export function createOwning(send: Send, random: Random, newUrl: () => string): Owning {
  return {
    async create(customer) {
      const namespaces = random.chance(0.4) ? [...customer.namespaces.keys()].slice(0, 1) : [];
      const events = random.pick([['record.upserted'], ['record.upserted', 'record.deleted'], EVENTS]);
      const scopes = namespaces.length > 0 ? { scopes: { namespaces } } : {};
      const webhook = { name: 'w', url: newUrl(), events, ...scopes };
      const answer = await send(customer, 'POST', '/webhooks', { webhook });
      if (answer !== null) customer.webhooks.add(answer.body.id);
    },
    async change(customer) {
      const id = pickFrom(random, customer.webhooks);
      if (id === null) return;
      const path = `/webhooks/${id}`;
      const kind = random.next();
      if (kind < 0.3) await send(customer, 'PATCH', path, { webhook: { enabled: random.chance(0.5) } });
      else if (kind < 0.5) await send(customer, 'PATCH', path, { webhook: { events: ['record.deleted'] } });
      else if (kind < 0.6) await send(customer, 'PATCH', path, { webhook: { url: newUrl() } });
      else if (kind < 0.8) await send(customer, 'POST', `${path}/regenerate_secret`);
      else if ((await send(customer, 'DELETE', path)) !== null) customer.webhooks.delete(id);
    },
    async hurry(customer) {
      const id = pickFrom(random, customer.webhooks);
      if (id === null) return;
      const answer = await send(customer, 'GET', `/webhooks/${id}/deliveries?status=pending`);
      const waiting = (answer?.body.deliveries ?? []) as readonly { readonly id: string }[];
      const delivery = pickFrom(random, waiting);
      if (delivery !== null)
        await send(customer, 'POST', `/webhooks/${id}/deliveries/${delivery.id}/redeliver`);
    },
  };
}
