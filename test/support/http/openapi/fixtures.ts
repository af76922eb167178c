import { randomUUID } from 'node:crypto';
import type { Caller, Customer } from '../world.ts';
import { created } from '../world.ts';

/** A customer with one of everything, and the ids of it for the paths of the document. */
export interface Fixtures {
  readonly namespace: { readonly id: string; readonly name: string };
  readonly recordKey: string;
  /** Fills the ids into a path template such as `/records/{id}`. */
  readonly pathOf: (template: string) => string;
}

/** @param caller of a session of the customer */
export async function makeFixtures(customer: Customer, caller: Caller): Promise<Fixtures> {
  const namespace = await customer.namespace();
  // With history, so that a record that was written twice has a version.
  await caller.patch(`/namespaces/${namespace.id}`, { namespace: { history: { versions: 5, days: 5 } } });
  const record = await customer.record(`a.b.${namespace.name}.v1`);
  await caller.patch(`/records/${record.id}`, { record: { data: 'bmV3' } });
  const webhook = await customer.webhook();
  const key = await customer.key();
  const token = created(await caller.post(`/namespaces/${namespace.id}/query_tokens`, { name: 'x' }));
  const test = await caller.post(`/webhooks/${webhook.id}/test`);
  const organization = created(await caller.post('/organizations', { organization: { name: 'x' } }));
  const invitation = created(
    await caller.post(`/organizations/${organization.id}/invitations`, {
      invitation: { email: `guest-${randomUUID()}@example.com` },
    }),
  );
  /** By the segment of the path before the id. */
  const ids: Readonly<Record<string, string>> = {
    namespaces: namespace.id,
    records: record.id,
    versions: '1',
    webhooks: webhook.id,
    api_keys: key.id,
    query_tokens: token.id,
    deliveries: test.json.delivery.id,
    organizations: organization.id,
    invitations: invitation.id,
    members: customer.id,
  };
  return {
    namespace,
    recordKey: record.key,
    pathOf: (template) =>
      template.replaceAll(
        /([^/]+)\/\{\w+\}/g,
        (_, segment: string) => `${segment}/${ids[segment] ?? randomUUID()}`,
      ),
  };
}
