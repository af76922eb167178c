import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ask } from '../../src/process/dns-client.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually } from './client.ts';

interface Listed {
  readonly role: string;
  readonly key_tag: number;
  readonly state: string;
  readonly state_since: string;
}

describe('signing keys of a control process and two whole processes over one PostgreSQL', {
  skip: postgresMissing() ?? false,
}, () => {
  it('are the same on all, follow a step of a rollover while they serve, and open with one secret alone (finding R2)', async () => {
    const database = await postgresDatabase();
    const shared = {
      UQRP_DATABASE_URL: database.url,
      UQRP_SECRET: 'a secret of more than 32 characters',
      UQRP_WORKERS: '1',
    };
    const started: Uqrp[] = [];
    const run = async (env: NodeJS.ProcessEnv): Promise<Uqrp> => {
      const server = await startUqrp({ ...shared, ...env });
      started.push(server);
      return server;
    };
    try {
      const control = await run({ UQRP_ROLE: 'control' });
      const nodes = [await run({ UQRP_ROLE: 'all' }), await run({ UQRP_ROLE: 'all' })];
      const listed = JSON.parse(control.cli(['dnssec', 'keys', '--json'])) as Listed[];
      assert.deepEqual(
        listed.map(({ role, state }) => [role, state]),
        [
          ['ksk', 'active'],
          ['zsk', 'active'],
        ],
      );
      assert.match(listed[0]!.state_since, /^\d{4}-\d\d-\d\dT/);
      const [first, second] = await Promise.all(nodes.map(dnskeys));
      assert.equal(first!.keys.length, 2);
      assert.deepEqual(first, second);
      for (const { dataDir } of nodes) {
        assert.equal(existsSync(join(dataDir, 'keys')), false, 'the keys are in the database');
      }

      assert.match(
        control.cli(['dnssec', 'rollover', 'zsk', '--dry-run']),
        /the next step is publish of a new key/,
      );
      assert.equal((JSON.parse(control.cli(['dnssec', 'keys', '--json'])) as Listed[]).length, 2);
      assert.match(control.cli(['dnssec', 'rollover', 'zsk']), /publish of key \d+ is done/);
      for (const node of nodes) {
        await eventually(async () => (await dnskeys(node)).keys.length === 3);
      }
      assert.deepEqual(await dnskeys(nodes[0]!), await dnskeys(nodes[1]!));

      await assert.rejects(
        run({ UQRP_ROLE: 'all', UQRP_SECRET: 'another secret of more than 32 characters' }),
        /UQRP_SECRET/,
      );
    } finally {
      for (const server of started.reverse()) await server.remove();
      await database.drop();
    }
  });
});

/** The DNSKEY rrset of a node, sorted, and the number of its signatures. */
async function dnskeys(node: Uqrp): Promise<{ keys: readonly string[]; signatures: number }> {
  const { answer } = await ask(nameFromText('uqrp.net')!, RRTYPE.DNSKEY, {
    server: { host: '127.0.0.1', port: node.ports.dns, ca: null },
    transport: 'tcp',
    deadlineMs: 5000,
    dnssecOk: true,
  });
  const rdata = (type: number): string[] =>
    answer.filter((rr) => rr.type === type).map((rr) => Buffer.from(rr.rdata).toString('hex'));
  const signatures = rdata(RRTYPE.RRSIG).length;
  assert.ok(signatures > 0, 'an answer is never unsigned');
  return { keys: rdata(RRTYPE.DNSKEY).sort(), signatures };
}
