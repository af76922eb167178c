import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CLI, ended, runCli, settingsFor, startCommand } from '../support/command.ts';
import { relayTo } from '../support/relay.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually } from './client.ts';

const PATIENCE_MS = 60_000;
const SECRET = 'a secret of more than 32 characters';

describe('a start before its database (operator finding 2)', { skip: postgresMissing() ?? false }, () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-wait-'));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));

  for (const role of ['control', 'all'] as const) {
    it(`waits as ${role}, says so once, and serves when the database has come`, async () => {
      const database = await postgresDatabase();
      const relay = await relayTo(database.url);
      await relay.cut();
      const child = startCommand(process.execPath, [CLI, 'serve', '--json'], {
        ...settingsFor(join(dir, role)),
        UQRP_ROLE: role,
        UQRP_DATABASE_URL: relay.url,
        UQRP_SECRET: SECRET,
      });
      const ending = ended(child);
      let [out, log] = ['', ''];
      child.stdout?.on('data', (chunk: Buffer) => {
        out += chunk.toString();
      });
      child.stderr?.on('data', (chunk: Buffer) => {
        log += chunk.toString();
      });
      try {
        await eventually(async () => log.includes('"event":"store.waiting"'), PATIENCE_MS);
        assert.equal(out, '');
        await relay.restore();
        await eventually(async () => out.includes('\n'), PATIENCE_MS);
        const { ports } = JSON.parse(out) as { ports: { http: number } };
        assert.equal((await fetch(`http://127.0.0.1:${ports.http}/readyz`)).status, 200);
        child.kill('SIGTERM');
        assert.equal((await ending).code, 0);
        const events = log.split('\n').filter((line) => line !== '');
        const names = events.map((line) => (JSON.parse(line) as { event: string; state?: string }).event);
        assert.equal(names.filter((name) => name === 'store.waiting').length, 1);
        assert.ok(names.indexOf('store.state') > names.indexOf('store.waiting'));
      } finally {
        child.kill('SIGKILL');
        await ending;
        await relay.cut();
        await database.drop();
      }
    });
  }

  it('ends in order with SIGTERM while it waits', async () => {
    const child = startCommand(process.execPath, [CLI, 'serve'], {
      ...settingsFor(join(dir, 'stopped')),
      UQRP_DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d',
      UQRP_SECRET: SECRET,
    });
    const ending = ended(child);
    let log = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
    await eventually(async () => log.includes('store.waiting'), PATIENCE_MS);
    child.kill('SIGTERM');
    const { code, errors } = await ending;
    assert.equal(code, 0, errors);
    assert.ok(!errors.includes('server.failed'));
  });

  it('ends at once with what waiting does not mend, and commands do not wait', async () => {
    const database = await postgresDatabase();
    try {
      const other = new URL(database.url);
      other.pathname = '/no_such_database';
      const settings = { ...settingsFor(join(dir, 'wrong')), UQRP_SECRET: SECRET };
      const wrong = await runCli(['serve'], { ...settings, UQRP_DATABASE_URL: other.href });
      assert.equal(wrong.code, 1);
      assert.match(wrong.errors, /^UQRP_DATABASE_URL: .*no_such_database/m);
      assert.ok(!wrong.errors.includes('store.waiting'));
      const command = await runCli(['user', 'list'], {
        ...settings,
        UQRP_DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d',
      });
      assert.equal(command.code, 1);
      assert.match(command.errors, /^UQRP_DATABASE_URL: .*ECONNREFUSED/);
    } finally {
      await database.drop();
    }
  });
});
