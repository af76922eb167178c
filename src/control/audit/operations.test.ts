import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { codeFor, newEmail, verify } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { keepingNamespace } from '../../../test/support/control/history/versions.ts';
import { invited, newMember, newOrganization } from '../../../test/support/control/organizations/rig.ts';
import { softwareAuthenticator } from '../../../test/support/control/passkeys/authenticator.ts';
import { register, signIn } from '../../../test/support/control/passkeys/rig.ts';
import { addDeliveries } from '../../../test/support/control/webhooks/rows.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { operationsOf } from '../../../test/support/http/openapi/document.ts';
import { publishedDocument } from '../../../test/support/http/openapi/published.ts';
import {
  type Answer,
  created,
  newName,
  openWorld,
  PUBLIC_URL,
  type World,
} from '../../../test/support/http/world.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import type { AuditRow } from '../../store/audit.ts';
import type { Store } from '../../store/store.ts';
import { AUDITED_OPERATIONS, NO_ACTION } from './operations.ts';

const CHANGES: ReadonlySet<string> = new Set(['POST', 'PATCH', 'PUT', 'DELETE']);
/** Reads that are actions. */
const READS: ReadonlySet<string> = new Set(['exportRecords', 'getRecordVersion']);

describe('the table of audited operations', () => {
  it('has each request that changes anything, and no other', async () => {
    const operations = operationsOf(await publishedDocument());
    const wanted = operations
      .filter(({ method, operation }) => CHANGES.has(method) || READS.has(operation.operationId))
      .map(({ operation }) => operation.operationId);
    const known = [...Object.keys(AUDITED_OPERATIONS), ...Object.keys(NO_ACTION)];
    assert.deepEqual(known.toSorted(), wanted.toSorted());
  });

  it('has a request below for each of its operations', () => {
    assert.deepEqual(Object.keys(REQUESTS).toSorted(), Object.keys(AUDITED_OPERATIONS).toSorted());
  });
});

/** A request of each operation, which succeeds, and in whose log its row must be. */
const REQUESTS: Readonly<Record<string, (world: World) => Promise<readonly [Answer, customer: string]>>> = {
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

const MARKER = 'a payload that nobody may find';
const PAYLOAD = Buffer.from(MARKER).toString('base64');

/** What an answer shows once. */
function secretsIn(body: Readonly<Record<string, unknown>> | null): string[] {
  return ['token', 'secret', 'signing_secret'].flatMap((name) => {
    const value = body?.[name];
    return typeof value === 'string' ? [value] : [];
  });
}

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

apiScenarios('the row of each request', {
  'is one, of the right action, in the right log, with the id of the request': async (store) => {
    const world = await openWorld(store);
    const secrets: string[] = [];
    for (const [name, request] of Object.entries(REQUESTS)) {
      const [answer, customer] = await request(world);
      assert.ok(answer.status < 300, `${name}: ${answer.text}`);
      const rows = await rowsOf(store, answer);
      const { action } = AUDITED_OPERATIONS[name]!;
      assert.deepEqual(
        rows.map((row) => [row.action, row.customer_id, row.outcome, row.actor_kind]),
        [[action, customer, 'done', 'user']],
        name,
      );
      assert.notEqual(rows[0]!.object_kind, null, name);
      secrets.push(...secretsIn(answer.json));
    }
    const log = await findRows(store.read, 'audit_log');
    const text = JSON.stringify(log);
    secrets.push(...world.invitations.map(({ token }) => token));
    assert.ok(secrets.length > 8);
    for (const secret of [...secrets, PAYLOAD, MARKER, 'lightMyRequest', '127.0.0.1', 'a.example']) {
      assert.equal(text.includes(secret), false, 'the audit log has something private');
    }
    const codes = new Set<unknown>(world.mails.map(({ code }) => code));
    assert.ok(log.every((row) => Object.values(row).every((value) => !codes.has(value))));
    await world.close();
  },
});

function rowsOf(store: Store, { headers }: Answer): Promise<AuditRow[]> {
  return findRows(store.read, 'audit_log', { where: { request_id: String(headers['x-request-id']) } });
}
