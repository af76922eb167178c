/** One request of each audited operation. */

import { type Answer, created, newName, PUBLIC_URL, type World } from '../../http/world.ts';
import { codeFor, newEmail, verify } from '../accounts/sign-in-rig.ts';
import { keepingNamespace } from '../history/versions.ts';
import { invited, newMember, newOrganization } from '../organizations/rig.ts';
import { softwareAuthenticator } from '../passkeys/authenticator.ts';
import { register, signIn } from '../passkeys/rig.ts';
import { addDeliveries } from '../webhooks/rows.ts';

export const MARKER = 'a payload that nobody may find';
export const PAYLOAD = Buffer.from(MARKER).toString('base64');

/** A request of each operation, which succeeds, and in whose log its row must be. It is the last one that the function sends. */
export const REQUESTS: Readonly<
  Record<string, (world: World) => Promise<readonly [Answer, customer: string]>>
> = {
  async verifyCode(world) {
    const email = newEmail();
    const answer = await verify(world, email, await codeFor(world, email));
    return [answer, answer.json.user.id];
  },
  async verifyPasskeySignIn(world) {
    const customer = await world.customer();
    const authenticator = softwareAuthenticator(PUBLIC_URL);
    created(await register(customer, authenticator));
    return [await signIn(world, authenticator), customer.id];
  },
  signOut: (world) => asCustomer(world, (customer) => customer.del('/auth/session')),
  deleteSession: (world) =>
    asCustomer(world, async (customer) => {
      const { json } = await customer.get('/sessions');
      return customer.del(`/sessions/${json[0].id}`);
    }),
  deleteSessions: (world) => asCustomer(world, (customer) => customer.del('/sessions')),
  createPasskey: (world) =>
    asCustomer(world, (customer) => register(customer, softwareAuthenticator(PUBLIC_URL))),
  deletePasskey: (world) =>
    asCustomer(world, async (customer) => {
      const { id } = created(await register(customer, softwareAuthenticator(PUBLIC_URL)));
      return customer.del(`/passkeys/${id}`);
    }),
  createApiKey: (world) =>
    asCustomer(world, (customer) => customer.post('/api_keys', { api_key: { name: 'a' } })),
  deleteApiKey: (world) =>
    asCustomer(world, async (customer) => customer.del(`/api_keys/${(await customer.key()).id}`)),
  createQueryToken: (world) =>
    inNamespace(world, ({ path }, customer) => customer.post(`${path}/query_tokens`, { name: 'a' })),
  revokeQueryToken: (world) =>
    inNamespace(world, async ({ path }, customer) => {
      const { id } = created(await customer.post(`${path}/query_tokens`, { name: 'a' }));
      return customer.del(`${path}/query_tokens/${id}`);
    }),
  createNamespace: (world) =>
    asCustomer(world, (customer) => customer.post('/namespaces', { namespace: { name: newName() } })),
  updateNamespace: (world) =>
    inNamespace(world, ({ path }, customer) => customer.patch(path, { namespace: { max_ttl: 9 } })),
  deleteNamespace: (world) => inNamespace(world, ({ path }, customer) => customer.del(path)),
  exportRecords: (world) => inNamespace(world, ({ path }, customer) => customer.get(`${path}/export`)),
  createRecord: (world) =>
    inNamespace(world, ({ key }, customer) =>
      customer.post('/records', { record: { key: `b.${key}`, data: PAYLOAD } }),
    ),
  updateRecord: (world) => inNamespace(world, ({ record }, customer) => customer.patch(record, CHANGE)),
  deleteRecord: (world) => inNamespace(world, ({ record }, customer) => customer.del(record)),
  restoreRecord: (world) =>
    inNamespace(world, async ({ record }, customer) => {
      await customer.patch(record, CHANGE);
      return customer.post(`${record}/restore`, { version: 1 });
    }),
  restoreDeletedRecord: (world) =>
    inNamespace(world, async ({ path, key, record }, customer) => {
      await customer.del(record);
      return customer.post(`${path}/restore`, { key, version: 1 });
    }),
  writeRecords: (world) =>
    inNamespace(world, ({ key }, customer) =>
      customer.post('/records/bulk', { records: [{ key, data: PAYLOAD }] }),
    ),
  undoWrite: (world) =>
    inNamespace(world, async ({ path, record }, customer) => {
      const { headers } = await customer.patch(record, CHANGE);
      return customer.post(`${path}/undo`, { write: headers['x-service-seq'] });
    }),
  getRecordVersion: (world) =>
    inNamespace(world, ({ record }, customer) => customer.get(`${record}/versions/1`)),
  eraseRecordVersions: (world) =>
    inNamespace(world, ({ record }, customer) => customer.del(`${record}/versions`)),
  eraseKeyVersions: (world) =>
    inNamespace(world, ({ path, key }, customer) => customer.del(`${path}/versions?key=${key}`)),
  createWebhook: (world) =>
    asCustomer(world, (customer) =>
      customer.post('/webhooks', {
        webhook: { name: 'a', url: 'https://a.example/', events: ['record.deleted'] },
      }),
    ),
  updateWebhook: (world) =>
    withWebhook(world, (path, customer) => customer.patch(path, { webhook: { name: 'b' } })),
  deleteWebhook: (world) => withWebhook(world, (path, customer) => customer.del(path)),
  regenerateWebhookSecret: (world) =>
    withWebhook(world, (path, customer) => customer.post(`${path}/regenerate_secret`)),
  testWebhook: (world) => withWebhook(world, (path, customer) => customer.post(`${path}/test`)),
  redeliverWebhookDelivery: (world) =>
    withWebhook(world, async (path, customer, id) => {
      const [delivery] = await addDeliveries(world.store, id, 1, () => ({}));
      return customer.post(`${path}/deliveries/${delivery}/redeliver`);
    }),
  async createOrganization(world) {
    const customer = await world.customer();
    const answer = await customer.post('/organizations', { organization: { name: 'a' } });
    return [answer, answer.json.id];
  },
  async updateOrganization(world) {
    const { owner, path, id } = await newOrganization(world);
    return [await owner.patch(path, { organization: { name: 'b' } }), id];
  },
  async deleteOrganization(world) {
    const { owner, path } = await newOrganization(world);
    return [await owner.del(path), owner.id];
  },
  async createInvitation(world) {
    const { owner, path, id } = await newOrganization(world);
    return [await owner.post(`${path}/invitations`, { invitation: { email: newEmail() } }), id];
  },
  async deleteInvitation(world) {
    const { owner, path, id } = await newOrganization(world);
    const invitation = created(
      await owner.post(`${path}/invitations`, { invitation: { email: newEmail() } }),
    );
    return [await owner.del(`${path}/invitations/${invitation.id}`), id];
  },
  async acceptInvitation(world) {
    const organization = await newOrganization(world);
    const person = await world.customer();
    const token = await invited(world, organization, person.email);
    return [await person.post('/invitations/accept', { token }), organization.id];
  },
  async updateMember(world) {
    const organization = await newOrganization(world);
    const { person } = await newMember(world, organization);
    const path = `${organization.path}/members/${person.id}`;
    return [await organization.owner.patch(path, { member: { role: 'owner' } }), organization.id];
  },
  async removeMember(world) {
    const organization = await newOrganization(world);
    const { person } = await newMember(world, organization);
    return [await organization.owner.del(`${organization.path}/members/${person.id}`), organization.id];
  },
  deleteMe: (world) =>
    asCustomer(world, (customer) => customer.send('DELETE', '/me', { email: customer.email })),
};

const CHANGE = { record: { ttl_seconds: 9 } };

type Someone = Awaited<ReturnType<World['customer']>>;

async function asCustomer(
  world: World,
  run: (customer: Someone) => Promise<Answer>,
): Promise<readonly [Answer, customer: string]> {
  const customer = await world.customer();
  return [await run(customer), customer.id];
}

interface Home {
  readonly path: string;
  readonly key: string;
  /** Path of a record with this key. */
  readonly record: string;
}

function inNamespace(world: World, run: (home: Home, customer: Someone) => Promise<Answer>) {
  return asCustomer(world, async (customer) => {
    const { id, name } = await keepingNamespace(customer);
    const key = `a.${name}.v1`;
    const record = await customer.record(key, { data: PAYLOAD });
    return run({ path: `/namespaces/${id}`, key, record: `/records/${record.id}` }, customer);
  });
}

function withWebhook(world: World, run: (path: string, customer: Someone, id: string) => Promise<Answer>) {
  return asCustomer(world, async (customer) => {
    const { id } = await customer.webhook();
    return run(`/webhooks/${id}`, customer, id);
  });
}
