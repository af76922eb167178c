import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadSecret } from '../../src/ops/config/data-dir.ts';
import { webhookSecretEncryption } from '../../src/process/start-checks.ts';
import { openStore } from '../../src/store/open.ts';
import { runCli, settingsFor } from '../support/command.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { findRows } from '../support/store/rows.ts';
import { eventually, read } from './client.ts';

const RELEASE = fileURLToPath(new URL('../fixtures/release-0002', import.meta.url));

/** Answers of the earlier release, before its stop. */
const EARLIER = {
  email: 'old@example.net',
  ds: 'uqrp.net. IN DS 48775 13 2 5D7E11B266BD5C1F13E81AD6B7F73F81F6E8967BBC9A6183C4C9683C139D960F\n',
  readToken: 'svcqf53l2kpugk1l9ha0q1s0kfgt08unaecfachs1stfm5t7ljaftgsg',
  apiKey: '2ef3dc18d89d5a5eee5ea4c19db43883ed432bfb43f365c91aecf0f3f87fa4a6',
  webhookId: '01a2012b-c0f1-7000-af2b-9c7dbf128a8d',
  signingSecret: '56ecbc6794fd9d8c07d3769d0ebe456704d0311e8bcdb70a4531c92d1be18033',
  deliveryId: '01a2012b-c16a-7000-90d2-761bd257eefc',
};

/** Writes the data directory of the earlier release, with its view. The waiting delivery is due in an hour. */
function earlierData(): string {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-upgrade-'));
  cpSync(join(RELEASE, 'keys'), join(dir, 'keys'), { recursive: true });
  cpSync(join(RELEASE, 'secret'), join(dir, 'secret'));
  const db = new DatabaseSync(join(dir, 'uqrp.sqlite'));
  db.exec('pragma journal_mode = wal');
  db.exec(readFileSync(join(RELEASE, 'uqrp.sql'), 'utf8'));
  const now = Date.now();
  db.exec(`update webhook_deliveries set created_at = ${now}, next_attempt_at = ${now + 3_600_000}`);
  db.exec(`update webhooks set next_due_at = ${now + 3_600_000}`);
  db.close();
  // The earlier release kept its view in three files beside the database.
  for (const name of ['view', 'view-lock', 'view-state'])
    writeFileSync(join(dir, name), 'of an earlier layout');
  return dir;
}

interface Webhook {
  readonly enabled: boolean;
  readonly failure_count: number;
}

async function get(server: Uqrp, credential: string, path: string): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${server.ports.http}/api/v1${path}`, {
    headers: { authorization: `Bearer ${credential}` },
  });
  assert.equal(response.status, 200, path);
  return response.json();
}

describe('an upgrade from release 0.1.0', () => {
  let dataDir: string;
  let server: Uqrp;

  before(async () => {
    dataDir = earlierData();
  });
  after(async () => {
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('refuses a secret that opens no webhook of the earlier data, and then takes the right one', async () => {
    const { code, errors } = await runCli(['serve'], {
      ...settingsFor(dataDir),
      UQRP_SECRET: 'y'.repeat(32),
    });
    assert.equal(code, 1);
    assert.match(errors, /is not the secret that this database was made with/);
    server = await startUqrp({ UQRP_WORKERS: '1', UQRP_RESOLVERS: '127.0.0.1:9' }, dataDir);
  });

  it('keeps the signing keys', () => {
    assert.equal(server.cli(['dnssec', 'ds']), EARLIER.ds);
  });

  it('answers the earlier records, with the earlier query token and without one where everyone may read', async () => {
    const name = `get.auth-${EARLIER.readToken}.greeting.acme.v1`;
    await eventually(async () => (await read(server, name)).payload === 'hello');
    assert.equal((await read(server, 'get.hi.openns.v1')).payload, 'hello');
    assert.equal((await read(server, 'get.greeting.acme.v1')).rcode, 'REFUSED');
  });

  it('removes the view of the earlier layout', () => {
    for (const name of ['view-lock', 'view-state']) assert.equal(existsSync(join(dataDir, name)), false);
  });

  it('keeps the customer, the webhook and the delivery that waits', async () => {
    const token = server.cli(['user', 'token', EARLIER.email]).trim();
    const me = (await get(server, token, '/me')) as Record<string, unknown>;
    assert.deepEqual([me.email, me.namespaces_count, me.api_keys_count], [EARLIER.email, 2, 1]);
    const hook = (await get(server, token, `/webhooks/${EARLIER.webhookId}`)) as Webhook;
    assert.deepEqual([hook.enabled, hook.failure_count], [true, 2]);
    const { deliveries } = (await get(server, token, `/webhooks/${EARLIER.webhookId}/deliveries`)) as {
      deliveries: { id: string; status: string; attempts: number }[];
    };
    const waiting = deliveries.find(({ id }) => id === EARLIER.deliveryId);
    assert.deepEqual([waiting?.status, waiting?.attempts], ['pending', 2]);
  });

  it('takes the earlier API key, writes, and tells the earlier webhook', async () => {
    const rows = (await get(server, EARLIER.apiKey, '/records?namespace=acme')) as { key: string }[];
    assert.deepEqual(
      rows.map(({ key }) => key),
      ['greeting.acme.v1', 'sensor-1.status.acme.v1', 'x.acme.v1'],
    );
    const body = JSON.stringify({ record: { key: 'after.acme.v1', data: 'aGVsbG8=' } });
    const written = await fetch(`http://127.0.0.1:${server.ports.http}/api/v1/records`, {
      method: 'POST',
      headers: { authorization: `Bearer ${EARLIER.apiKey}`, 'content-type': 'application/json' },
      body,
    });
    assert.equal(written.status, 201);
    const name = `get.auth-${EARLIER.readToken}.after.acme.v1`;
    await eventually(async () => (await read(server, name)).payload === 'hello');
    // There is no name server at UQRP_RESOLVERS: the attempt is made, and fails.
    const path = `/webhooks/${EARLIER.webhookId}`;
    await eventually(async () => {
      const hook = (await get(server, server.cli(['user', 'token', EARLIER.email]).trim(), path)) as Webhook;
      return hook.failure_count === 3;
    }, 20_000);
  });

  it('keeps the signing secret of the webhook', async () => {
    await server.stop();
    const store = await openStore({ dataDir, databaseUrl: null, clock: Date.now });
    const rows = await findRows(store.read, 'webhooks', { columns: ['id', 'signing_secret'] });
    await store.close();
    const encryption = webhookSecretEncryption(loadSecret(dataDir, null));
    assert.equal(encryption.decrypt(EARLIER.webhookId, rows[0]!.signing_secret), EARLIER.signingSecret);
  });
});
