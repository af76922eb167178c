import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askFor, newEmail } from '../../test/support/control/accounts/sign-in-rig.ts';
import { invited, newMember, newOrganization } from '../../test/support/control/organizations/rig.ts';
import { softwareAuthenticator } from '../../test/support/control/passkeys/authenticator.ts';
import { creationOptions, register, requestOptions } from '../../test/support/control/passkeys/rig.ts';
import { publishedDocument } from '../../test/support/http/openapi/published.ts';
import {
  type Answer,
  type Caller,
  type Customer,
  newName,
  openWorld,
  PUBLIC_URL,
  WEBHOOK,
  type World,
} from '../../test/support/http/world.ts';
import { type DatabaseRelay, relayTo } from '../../test/support/relay.ts';
import { assertAgrees } from '../../test/support/store/agreement.ts';
import { testFanout } from '../../test/support/store/fan-out-world.ts';
import { postgresDatabase } from '../../test/support/store/postgres.ts';
import { postgresMissing } from '../../test/support/store/postgres-files.ts';
import { findRows, query } from '../../test/support/store/rows.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';

interface Request {
  /** Without it the customer sends. */
  readonly as?: Caller;
  readonly path: string;
  readonly body?: unknown;
}

type Begin = (world: World, customer: Customer) => Promise<Request>;

/** Of a new namespace with history, and a record in it that was changed once. */
async function recorded(customer: Customer) {
  const { id: namespaceId, name } = await customer.namespace();
  await customer.patch(`/namespaces/${namespaceId}`, { namespace: { history: { versions: 10, days: 1 } } });
  const key = `${newName()}.${name}.v1`;
  const { id } = await customer.record(key);
  const { headers } = await customer.patch(`/records/${id}`, { record: { data: 'b25l' } });
  return { namespaceId, name, key, id: id as string, seq: String(headers['x-service-seq']) };
}

async function inOrganization(world: World) {
  const organization = await newOrganization(world);
  return { organization, as: organization.owner as Caller, path: organization.path };
}

const passkeyOf = async (session: Caller) => {
  const authenticator = softwareAuthenticator(PUBLIC_URL);
  const { json } = await register(session, authenticator);
  return { id: json.id as string, authenticator };
};

/** Every request that writes, by method and path of the API document. */
const WRITES: Readonly<Record<string, Begin>> = {
  'POST /api_keys': async () => ({ path: '/api_keys', body: { api_key: { name: 'k' } } }),
  'DELETE /api_keys/{id}': async (_, customer) => ({ path: `/api_keys/${(await customer.key()).id}` }),
  'POST /auth/organization': async (world) => {
    const { organization, as } = await inOrganization(world);
    return { as, path: '/auth/organization', body: { organization_id: organization.id } };
  },
  'POST /auth/passkeys/verify': async (world, customer) => {
    const { authenticator } = await passkeyOf(await world.signIn(customer));
    const body = { response: authenticator.get(await requestOptions(world)) };
    return { as: world.caller(null), path: '/auth/passkeys/verify', body };
  },
  'DELETE /auth/session': async (world, customer) => ({
    as: await world.signIn(customer),
    path: '/auth/session',
  }),
  'POST /auth/sign_in': async (world) => ({
    as: world.caller(null),
    path: '/auth/sign_in',
    body: { email: newEmail() },
  }),
  'POST /auth/verify': async (world) => {
    const email = newEmail();
    const { code, flow } = await askFor(world, email);
    return { as: world.caller(null), path: '/auth/verify', body: { email, code, flow } };
  },
  'POST /invitations/accept': async (world, customer) => {
    const { organization } = await inOrganization(world);
    const token = await invited(world, organization, customer.email);
    return { path: '/invitations/accept', body: { token } };
  },
  'DELETE /me': async (_, { email }) => ({ path: '/me', body: { email } }),
  'POST /namespaces': async () => ({ path: '/namespaces', body: { namespace: { name: newName() } } }),
  'PATCH /namespaces/{id}': async (_, customer) => ({
    path: `/namespaces/${(await customer.namespace()).id}`,
    body: { namespace: { max_ttl: 5 } },
  }),
  'DELETE /namespaces/{id}': async (_, customer) => ({
    path: `/namespaces/${(await recorded(customer)).namespaceId}`,
  }),
  'POST /namespaces/{id}/query_tokens': async (_, customer) => ({
    path: `/namespaces/${(await customer.namespace()).id}/query_tokens`,
    body: { name: 't' },
  }),
  'DELETE /namespaces/{id}/query_tokens/{token_id}': async (_, customer) => {
    const path = `/namespaces/${(await customer.namespace()).id}/query_tokens`;
    return { path: `${path}/${(await customer.post(path, { name: 't' })).json.id}` };
  },
  'POST /namespaces/{id}/restore': async (_, customer) => {
    const { namespaceId, key, id } = await recorded(customer);
    await customer.del(`/records/${id}`);
    return { path: `/namespaces/${namespaceId}/restore`, body: { key, version: 1 } };
  },
  'POST /namespaces/{id}/undo': async (_, customer) => {
    const { namespaceId, seq } = await recorded(customer);
    return { path: `/namespaces/${namespaceId}/undo`, body: { write: seq } };
  },
  'DELETE /namespaces/{id}/versions': async (_, customer) => {
    const { namespaceId, key } = await recorded(customer);
    return { path: `/namespaces/${namespaceId}/versions?key=${key}` };
  },
  'POST /organizations': async () => ({ path: '/organizations', body: { organization: { name: 'Acme' } } }),
  'PATCH /organizations/{id}': async (world) => ({
    ...(await inOrganization(world)),
    body: { organization: { name: 'Other' } },
  }),
  'DELETE /organizations/{id}': (world) => inOrganization(world),
  'POST /organizations/{id}/invitations': async (world) => {
    const { as, path } = await inOrganization(world);
    return { as, path: `${path}/invitations`, body: { invitation: { email: newEmail() } } };
  },
  'DELETE /organizations/{id}/invitations/{invitation_id}': async (world) => {
    const { organization, as, path } = await inOrganization(world);
    await invited(world, organization, newEmail());
    const { json } = await as.get(`${path}/invitations`);
    return { as, path: `${path}/invitations/${json[0].id}` };
  },
  'PATCH /organizations/{id}/members/{user_id}': async (world) => {
    const { organization, as, path } = await inOrganization(world);
    const { person } = await newMember(world, organization);
    return { as, path: `${path}/members/${person.id}`, body: { member: { role: 'owner' } } };
  },
  'DELETE /organizations/{id}/members/{user_id}': async (world) => {
    const { organization, as, path } = await inOrganization(world);
    const { person } = await newMember(world, organization);
    return { as, path: `${path}/members/${person.id}` };
  },
  'POST /passkeys': async (world, customer) => {
    const as = await world.signIn(customer);
    const response = softwareAuthenticator(PUBLIC_URL).create(await creationOptions(as));
    return { as, path: '/passkeys', body: { name: 'laptop', response } };
  },
  'DELETE /passkeys/{id}': async (world, customer) => {
    const as = await world.signIn(customer);
    return { as, path: `/passkeys/${(await passkeyOf(as)).id}` };
  },
  'POST /records': async (_, customer) => {
    const { name } = await customer.namespace();
    return { path: '/records', body: { record: { key: `${newName()}.${name}.v1`, data: 'aGk=' } } };
  },
  'POST /records/bulk': async (_, customer) => {
    const { name, key } = await recorded(customer);
    const records = [{ key: `${newName()}.${name}.v1`, data: 'aGk=' }];
    return { path: '/records/bulk', body: { records, delete: [key] } };
  },
  'PATCH /records/{id}': async (_, customer) => ({
    path: `/records/${(await recorded(customer)).id}`,
    body: { record: { data: 'dHdv' } },
  }),
  'DELETE /records/{id}': async (_, customer) => ({ path: `/records/${(await recorded(customer)).id}` }),
  'POST /records/{id}/restore': async (_, customer) => ({
    path: `/records/${(await recorded(customer)).id}/restore`,
    body: { version: 1 },
  }),
  'DELETE /records/{id}/versions': async (_, customer) => ({
    path: `/records/${(await recorded(customer)).id}/versions`,
  }),
  'DELETE /sessions': async (world, customer) => ({ as: await world.signIn(customer), path: '/sessions' }),
  'DELETE /sessions/{id}': async (world, customer) => {
    await world.signIn(customer);
    const { json } = await customer.get('/sessions');
    const other = json.find(({ current }: { readonly current: boolean }) => !current);
    return { path: `/sessions/${other.id}` };
  },
  'POST /webhooks': async () => ({ path: '/webhooks', body: { webhook: WEBHOOK } }),
  'PATCH /webhooks/{id}': async (_, customer) => ({
    path: `/webhooks/${(await customer.webhook()).id}`,
    body: { webhook: { enabled: false } },
  }),
  'DELETE /webhooks/{id}': async (_, customer) => ({ path: `/webhooks/${(await customer.webhook()).id}` }),
  'POST /webhooks/{id}/deliveries/{delivery_id}/redeliver': async (world, customer) => {
    const { id } = await customer.webhook();
    await recorded(customer);
    await testFanout(world.store, { clock: world.now }).pass(false);
    const [delivery] = await findRows(world.store.read, 'webhook_deliveries', { where: { webhook_id: id } });
    return { path: `/webhooks/${id}/deliveries/${delivery!.id}/redeliver` };
  },
  'POST /webhooks/{id}/regenerate_secret': async (_, customer) => ({
    path: `/webhooks/${(await customer.webhook()).id}/regenerate_secret`,
  }),
  'POST /webhooks/{id}/test': async (_, customer) => ({
    path: `/webhooks/${(await customer.webhook()).id}/test`,
  }),
};

/** They store nothing. */
const NO_WRITES = ['POST /auth/passkeys/options', 'POST /passkeys/options'];

const HOUR = 3_600_000;

/** What a repeated request without a key may find: its first one was done. */
const DONE_BEFORE = [200, 202, 204, 401, 404];

const TABLES = [
  'records',
  'namespaces',
  'customers',
  'users',
  'memberships',
  'invitations',
  'api_keys',
  'query_tokens',
  'sessions',
  'passkeys',
  'webhooks',
  'webhook_deliveries',
  'record_versions',
  'change_log',
  'idempotency_keys',
];

/** What was refused is written later, and not in the unit. */
const AUDITED = `(select count(*) from audit_log where outcome = 'done' and action <> 'sign_in.failed') as audit_log`;

async function rowCounts(store: Store): Promise<Map<string, number>> {
  const counts = TABLES.map((table) => `(select count(*) from ${table}) as ${table}`);
  const [row] = await query<Record<string, number>>(store.read, `select ${[...counts, AUDITED].join(', ')}`);
  return new Map(Object.entries(row!));
}

const grown = (from: ReadonlyMap<string, number>, to: ReadonlyMap<string, number>): string[] =>
  [...to].flatMap(([table, count]) =>
    count === from.get(table) ? [] : [`${table} ${count - from.get(table)!}`],
  );

interface Sent {
  /** Of the request whose commit was lost. */
  readonly first: Answer | null;
  readonly last: Answer;
  /** Rows that all of it added or deleted, by table. */
  readonly rows: readonly string[];
}

/** Sends a request, the first time over a connection that is lost at its commit. */
async function send(
  world: World,
  relay: DatabaseRelay,
  operation: string,
  loses: 'before' | 'after' | null,
): Promise<Sent> {
  const customer = await world.customer();
  const { as = customer, path, body } = await WRITES[operation]!(world, customer);
  // The use of its session is then noted: what follows commits the request alone.
  if (as.token !== '') await as.get('/me');
  await world.settle();
  const before = await rowCounts(world.store);
  const [method = ''] = operation.split(' ');
  const headers = method === 'POST' ? { 'idempotency-key': 'k' } : {};
  const request = (): Promise<Answer> => as.send(method, path, body, headers);
  let first: Answer | null = null;
  if (loses !== null) {
    const lost = relay.loseCommit(loses);
    first = await request();
    await lost;
  }
  const last = await request();
  await world.settle();
  return { first, last, rows: grown(before, await rowCounts(world.store)) };
}

describe('a connection that is lost at the commit', { skip: postgresMissing() ?? false }, () => {
  it('is tried for every request that writes', async () => {
    const { paths } = await publishedDocument();
    const writes = Object.entries(paths).flatMap(([path, methods]) =>
      ['post', 'put', 'patch', 'delete'].flatMap((method) =>
        Object.hasOwn(methods, method) ? [`${method.toUpperCase()} ${path}`] : [],
      ),
    );
    assert.deepEqual(writes.toSorted(), [...Object.keys(WRITES), ...NO_WRITES].toSorted());
  });

  it('is an answer of 500, and the request again has one effect', async () => {
    const database = await postgresDatabase();
    const relay = await relayTo(database.url);
    const direct = await openStore({ dataDir: '', databaseUrl: database.url, clock: Date.now });
    const store = await openStore({ dataDir: '', databaseUrl: relay.url, clock: Date.now });
    const world = await openWorld(store);
    try {
      const faults: string[] = [];
      for (const operation of Object.keys(WRITES)) {
        world.advance(HOUR);
        const once = await send(world, relay, operation, null);
        if (once.last.status >= 300) faults.push(`${operation}: ${once.last.text}`);
        for (const when of ['before', 'after'] as const) {
          world.advance(HOUR);
          const { first, last, rows } = await send(world, relay, operation, when);
          const hasKey = once.rows.includes('idempotency_keys 1');
          const expected = when === 'after' && !hasKey ? DONE_BEFORE : [];
          if (first!.status !== 500 || ![once.last.status, ...expected].includes(last.status)) {
            faults.push(`${operation}, lost ${when}: ${first!.status} ${last.status} ${last.text}`);
          }
          if ((when === 'before' || hasKey) && rows.join() !== once.rows.join()) {
            faults.push(`${operation}, lost ${when}: ${rows.join()} instead of ${once.rows.join()}`);
          }
        }
      }
      assert.deepEqual(faults, []);
      await assertAgrees(direct, world.now());
    } finally {
      await world.close();
      await store.close();
      await direct.close();
      await relay.cut();
      await database.drop();
    }
  });
});
