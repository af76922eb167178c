import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { aesGcmEncryption } from '../../src/base/seal.ts';
import { deriveKey, loadSecret } from '../../src/ops/config/data-dir.ts';
import { openStore } from '../../src/store/open.ts';
import { runCli, settingsFor } from '../support/command.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { findRows } from '../support/store/rows.ts';
import { eventually, read } from './client.ts';

const OTHER_STORE = [410, { error: 'since is of another store', code: 'not_found' }];

describe('backup and restore', () => {
  /** A cursor behind a write that the backup does not have. */
  let lost: string;
  let dir: string;
  let backup: string;
  let first: Uqrp;
  let customer: Account;
  let before_: { ds: string; records: string; token: string; signingSecret: string; webhookId: string };

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-backup-'));
    backup = join(dir, 'backup');
    first = await startUqrp({ UQRP_WORKERS: '1' });
    customer = account(first);
    const namespace = await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const { id } = namespace.body as { id: string };
    const minted = await customer.call('POST', `/namespaces/${id}/query_tokens`, { name: 'laptop' });
    const data = Buffer.from('kept').toString('base64');
    await customer.call('POST', '/records', { record: { key: 'greeting.acme.v1', data } });
    const hook = await customer.call('POST', '/webhooks', {
      webhook: { name: 'mirror', url: 'https://hooks.example.com/uqrp', events: ['record.upserted'] },
    });
    const { id: webhookId, signing_secret: signingSecret } = hook.body as {
      id: string;
      signing_secret: string;
    };
    before_ = {
      ds: first.cli(['dnssec', 'ds']),
      records: first.cli(['export', 'acme']),
      token: (minted.body as { token: string }).token,
      signingSecret,
      webhookId,
    };
    assert.match(first.cli(['backup', backup]), /^\d+ files in /);
    await customer.call('POST', '/records', { record: { key: 'later.acme.v1', data } });
    lost = ((await customer.call('GET', '/changes')).body as { next: string }).next;
  });
  after(async () => {
    await first.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  it('brings back keys, tokens, records and secrets on another machine (newcomer finding 1)', async () => {
    const dataDir = join(dir, 'other machine');
    const restored = await runCli(['restore', backup], settingsFor(dataDir));
    assert.equal(restored.code, 0, restored.errors);
    const second = await startUqrp({ UQRP_WORKERS: '1' }, dataDir);
    try {
      assert.match(before_.ds, /^uqrp\.net\. IN DS \d+ 13 2 [0-9A-F]{64}\n$/);
      assert.equal(second.cli(['dnssec', 'ds']), before_.ds);
      assert.equal(second.cli(['export', 'acme']), before_.records);
      const name = `get.auth-${before_.token}.greeting.acme.v1`;
      await eventually(async () => (await read(second, name)).payload === 'kept');
      const me = await customer.at(`http://127.0.0.1:${second.ports.http}/api/v1`).call('GET', '/me');
      assert.equal(me.status, 200, 'the token for the API is still good');
      const there = customer.at(`http://127.0.0.1:${second.ports.http}/api/v1`);
      // Past the place that the cursor has: under the epoch of before it would go on behind these writes.
      for (const key of ['a.acme.v1', 'b.acme.v1', 'c.acme.v1'])
        await there.call('POST', '/records', { record: { key, data: 'YQ==' } });
      const skipping = await there.call('GET', `/changes?since=${lost}`);
      assert.deepEqual([skipping.status, skipping.body], OTHER_STORE);
      const { next } = (await there.call('GET', '/changes')).body as { next: string };
      assert.match(
        second.cli(['feed', 'epoch', 'new']),
        /^the database has epoch .*cursors of before are refused/,
      );
      const before = await there.call('GET', `/changes?since=${next}`);
      assert.deepEqual([before.status, before.body], OTHER_STORE);
      await eventually(async () => (await read(second, name)).payload === 'kept');
    } finally {
      await second.stop();
    }
    const store = await openStore({ dataDir, databaseUrl: null, clock: Date.now });
    const rows = await findRows(store.read, 'webhooks', { columns: ['id', 'signing_secret'] });
    await store.close();
    const encryption = aesGcmEncryption(
      deriveKey(loadSecret(dataDir, null), 'webhook-signing-secret', 32),
      randomBytes,
    );
    assert.equal(encryption.decrypt(before_.webhookId, rows[0]!.signing_secret), before_.signingSecret);
  });

  it('writes for its user alone, and a manifest of every file', () => {
    const { files, migrations, engine } = JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'));
    const paths = files.map(({ path }: { path: string }) => path).sort();
    assert.deepEqual(paths, ['keys/uqrp.net.json', 'secret', 'tls/cert.pem', 'tls/key.pem', 'uqrp.sqlite']);
    assert.deepEqual([engine, migrations[0]], ['sqlite', '0001-first-tables']);
    assert.equal(statSync(backup).mode & 0o777, 0o700);
    for (const path of [...paths, 'manifest.json'])
      assert.equal(statSync(join(backup, path)).mode & 0o777, 0o600);
  });

  const refused = async (args: readonly string[], env: NodeJS.ProcessEnv, message: RegExp): Promise<void> => {
    const { code, errors } = await runCli(args, env);
    assert.equal(code, 1);
    assert.match(errors, message);
  };

  it('refuses a target that is not empty, and a server that runs', async () => {
    const full = join(dir, 'full');
    mkdirSync(full);
    writeFileSync(join(full, 'file'), '');
    await refused(['backup', full], settingsFor(first.dataDir), /is not empty: name a new folder/);
    await refused(['restore', backup], settingsFor(full), /is not empty: move it away/);
    assert.deepEqual(readdirSync(full), ['file']);
    await refused(
      ['restore', backup],
      settingsFor(first.dataDir),
      new RegExp(`in use by process ${first.pid},`),
    );
  });

  it('refuses a folder without a manifest, and one whose files were changed, and writes nothing', async () => {
    const target = join(dir, 'untouched');
    await refused(['restore', dir], settingsFor(target), /no finished backup/);
    const damaged = join(dir, 'damaged');
    first.cli(['backup', damaged]);
    appendFileSync(join(damaged, 'secret'), ' ');
    await refused(
      ['restore', damaged],
      settingsFor(target),
      /secret is missing or is not what the manifest says/,
    );
    assert.equal(statSync(target, { throwIfNoEntry: false }), undefined);
  });

  it('doctor finds the database whole, the secret right and the server running', async () => {
    const env = { ...settingsFor(first.dataDir), UQRP_RESOLVERS: `127.0.0.1:${first.ports.dns}` };
    const { out } = await runCli(['doctor', '--json'], env);
    const states = new Map(
      (JSON.parse(out) as { check: string; state: string; text: string }[]).map((one) => [one.check, one]),
    );
    assert.equal(states.get('server')?.text, `runs as process ${first.pid}`);
    assert.match(states.get('database')?.text ?? '', /^answers, schema \d{4}-.*secret fits$/);
    for (const check of ['node', 'clock', 'rights', 'view', 'certificate']) {
      assert.equal(states.get(check)?.state, 'ok', JSON.stringify(states.get(check)));
    }
    // As a resolver, our server refuses the root zone.
    assert.equal(states.get(`resolver 127.0.0.1:${first.ports.dns}`)?.state, 'wrong');
    const other = await runCli(['doctor', '--json'], { ...env, UQRP_SECRET: 'y'.repeat(32) });
    assert.equal(other.code, 1);
    assert.match(other.out, /made with another secret/);
  });

  it('says what it does not hold', async () => {
    const data = join(dir, 'postgres');
    mkdirSync(data, { mode: 0o700 });
    const env = { ...settingsFor(data), UQRP_DATABASE_URL: 'postgres://u@h/d', UQRP_SECRET: 'x'.repeat(32) };
    mkdirSync(join(data, 'keys'));
    writeFileSync(join(data, 'keys', 'dataset-1.json'), '{}');
    const { code, out } = await runCli(['backup', join(dir, 'of postgres')], env);
    assert.equal(code, 0);
    assert.match(out, /PostgreSQL with pg_dump --exclude-table-data=feed_keys\.\nUQRP_SECRET is not in it/);
    await refused(
      ['restore', join(dir, 'of postgres')],
      settingsFor(join(dir, 'x')),
      /set UQRP_DATABASE_URL/,
    );
  });

  it('fails where it would hold nothing, so that no timer is green for it (operator finding 18)', async () => {
    const data = join(dir, 'empty-postgres');
    mkdirSync(data, { mode: 0o700 });
    const env = { ...settingsFor(data), UQRP_DATABASE_URL: 'postgres://u@h/d', UQRP_SECRET: 'x'.repeat(32) };
    await refused(['backup', join(dir, 'nothing')], env, /There is nothing to back up .* pg_dump/);
    assert.equal(statSync(join(dir, 'nothing'), { throwIfNoEntry: false }), undefined);
  });
});
