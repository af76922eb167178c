import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually, read } from './client.ts';

/** Texts of questions that no file of the data directory may contain afterwards. */
const CANARIES = ['canaryparam', 'canaryrefused', 'canarymalformed', 'canaryunit', 'canarycity'];
const FORGED = `svcq${'canary0'.repeat(7)}abc`;

describe('the query log on disk', () => {
  let server: Uqrp;
  let token = '';
  let rows = 0;

  before(async () => {
    server = await startUqrp();
    const customer = account(server);
    const { body } = await customer.call('POST', '/namespaces', { namespace: { name: 'plainspace' } });
    const { id } = body as { id: string };
    const minted = await customer.call('POST', `/namespaces/${id}/query_tokens`, { name: 'x' });
    token = (minted.body as { token: string }).token;
    const data = Buffer.from('payload').toString('base64');
    await customer.call('POST', '/records', { record: { key: 'greeting.plainspace.v1', data } });
    const stored = `get.auth-${token}.greeting.plainspace.v1`;
    await eventually(async () => (await read(server, stored)).payload === 'payload');
    for (const transport of ['udp', 'tcp', 'dot', 'doh'] as const) {
      for (const name of [
        stored,
        `get.auth-${token}.canaryparam.greeting.plainspace.v1`,
        `get.auth-${FORGED}.greeting.plainspace.v1`,
        'get.canaryrefused.plainspace.v1',
        `get.canarymalformed.auth-${token}.greeting.plainspace.v1`,
        'get.1-canaryunit-to-m.units.public.v1',
        'get.canarycity.sun.public.v1',
      ]) {
        await read(server, name, transport);
      }
    }
    // A hit, a miss and two refusals on each of UDP, TCP and DoT; DoH has no rows.
    await eventually(async () => {
      const { body } = await customer.call('GET', '/query_logs');
      rows = (body as { meta: { total: number } }).meta.total;
      return rows >= 12;
    });
    await server.stop();
  });
  after(() => server.remove());

  it('has rows of what was asked, and no parameter, token or refused name in any file', () => {
    const files = filesBelow(server.dataDir);
    const found = (text: string): string[] =>
      files.filter((file) => readFileSync(file, 'latin1').toLowerCase().includes(text));
    assert.ok(rows >= 12);
    // The search finds what is there.
    assert.ok(found('greeting').length > 0);
    for (const text of [...CANARIES, FORGED, token]) {
      assert.deepEqual(found(text), [], 'a file holds something private');
    }
  });
});

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile());
}
