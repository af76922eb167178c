import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Ended, runCli, settingsFor } from '../support/command.ts';
import { startNameServer, type TestNameServer } from '../support/name-server.ts';
import { startDsResolver } from '../support/process/ds-resolver.ts';
import { startUqrp } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly text: string;
}

/** What the parent of the zone has. */
let parent: readonly string[] = [];

describe('doctor beside a healthy process of each role (operator finding 8)', () => {
  let dir: string;
  /** DS records are asked over TCP, everything else over UDP. */
  let resolver: Awaited<ReturnType<typeof startDsResolver>>;
  let overUdp: TestNameServer;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'uqrp-doctor-'));
    resolver = await startDsResolver(() => parent);
    overUdp = await startNameServer('127.0.0.1', Number(resolver.address.split(':')[1]), () => []);
  });
  after(() => {
    overUdp.close();
    resolver.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function doctor(env: NodeJS.ProcessEnv): Promise<{ found: Map<string, Finding>; ended: Ended }> {
    const ended = await runCli(['doctor', '--json'], {
      ...env,
      UQRP_RESOLVERS: resolver.address,
    });
    assert.notEqual(ended.out, '', ended.errors);
    const found = (JSON.parse(ended.out) as Finding[]).map((one) => [one.check, one] as const);
    return { found: new Map(found), ended };
  }

  function assertHealthy({ found, ended }: { found: Map<string, Finding>; ended: Ended }): void {
    assert.deepEqual(
      [...found.values()].filter(({ state }) => state === 'wrong'),
      [],
    );
    assert.equal(ended.code, 0);
  }

  it('control: no certificate is no fault, and the keys in PostgreSQL are compared with the parent', {
    skip: postgresMissing() ?? false,
  }, async () => {
    const database = await postgresDatabase();
    const env = {
      UQRP_ROLE: 'control',
      UQRP_DATABASE_URL: database.url,
      UQRP_SECRET: 'a secret of more than 32 characters',
    };
    const server = await startUqrp(env);
    try {
      const settings = { ...settingsFor(server.dataDir), ...env };
      const own = server.cli(['dnssec', 'ds']).trim().split(' IN DS ')[1]!;
      parent = [own, `1 13 2 ${'00'.repeat(32)}`];
      const healthy = await doctor(settings);
      assertHealthy(healthy);
      assert.equal(healthy.found.get('certificate')?.state, 'note');
      assert.match(healthy.found.get('ds uqrp.net')?.text ?? '', /^1 of 2 DS records at the parent belong/);
      parent = [`1 13 2 ${'00'.repeat(32)}`];
      const wrong = await doctor(settings);
      assert.equal(wrong.ended.code, 1);
      assert.match(wrong.found.get('ds uqrp.net')?.text ?? '', /^no DS record at the parent belongs/);
    } finally {
      await server.remove();
      await database.drop();
    }
  });

  it('all: certificate and keys of the data directory', async () => {
    const server = await startUqrp({ UQRP_WORKERS: '1' });
    try {
      parent = [server.cli(['dnssec', 'ds']).trim().split(' IN DS ')[1]!];
      const healthy = await doctor(settingsFor(server.dataDir));
      assertHealthy(healthy);
      assert.equal(healthy.found.get('certificate')?.state, 'ok');
      assert.equal(healthy.found.get('ds uqrp.net')?.state, 'ok');
    } finally {
      await server.remove();
    }
  });

  it('edge, before its first start: what is made then is no fault', async () => {
    const data = join(dir, 'edge');
    mkdirSync(data, { mode: 0o700 });
    const healthy = await doctor({ ...settingsFor(data), UQRP_ROLE: 'edge', UQRP_SYNC: 'off' });
    assertHealthy(healthy);
    assert.match(healthy.found.get('certificate')?.text ?? '', /makes one at its start/);
    assert.match(healthy.found.get('ds uqrp.net')?.text ?? '', /^control has the keys/);
  });
});
