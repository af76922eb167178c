import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually, read } from './client.ts';

const TRANSPORTS = ['udp', 'tcp', 'dot', 'doh'] as const;

/** Sends a POST that must succeed. */
async function post(as: Account, path: string, body: object): Promise<Record<string, string>> {
  const answer = await as.call('POST', path, body);
  assert.ok(answer.status === 200 || answer.status === 201, JSON.stringify(answer.body));
  return answer.body as Record<string, string>;
}

describe('the query tokens of a member of an organization', () => {
  let server: Uqrp;
  let printed = '';
  before(async () => {
    server = await startUqrp({ UQRP_WORKERS: '2', UQRP_ORGANIZATIONS: 'on' });
    server.child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  });
  after(() => server.remove());

  for (const way of ['is removed', 'leaves', 'deletes the account']) {
    it(`read nothing over DNS once the member ${way}; those of others do (security finding 8)`, async () => {
      const label = way.replaceAll(' ', '-');
      const email = `member-${label}@example.net`;
      const [owner, member] = [account(server, `owner-${label}@example.net`), account(server, email)];
      const { id } = await post(owner, '/organizations', { organization: { name: 'Acme' } });
      await post(owner, `/organizations/${id}/invitations`, { invitation: { email } });
      const line = new RegExp(`^([0-9a-f]{64}) is an invitation of ${email},`, 'm');
      await eventually(async () => line.test(printed));
      await post(member, '/invitations/accept', { token: line.exec(printed)![1] });
      for (const one of [owner, member]) await post(one, '/auth/organization', { organization_id: id });
      const namespace = await post(owner, '/namespaces', { namespace: { name: `private-${label}` } });
      const key = `conf.${namespace.name}.v1`;
      await post(owner, '/records', { record: { key, data: Buffer.from('secret').toString('base64') } });
      const names: string[] = [];
      for (const one of [owner, member]) {
        const { token } = await post(one, `/namespaces/${namespace.id}/query_tokens`, { name: 'reader' });
        names.push(`get.auth-${token}.${key}`);
      }
      const [kept, ended] = names as [string, string];
      for (const name of names) {
        await eventually(async () => (await read(server, name)).payload === 'secret');
        for (const transport of TRANSPORTS)
          assert.equal((await read(server, name, transport)).payload, 'secret');
      }
      const { body: members } = await owner.call('GET', `/organizations/${id}/members`);
      const { user_id: userId } = (members as Record<string, string>[]).find((one) => one.email === email)!;
      const { status } =
        way === 'deletes the account'
          ? await member.call('DELETE', '/me', { email })
          : await (way === 'leaves' ? member : owner).call(
              'DELETE',
              `/organizations/${id}/members/${userId}`,
            );
      assert.equal(status, 204);
      await eventually(async () => (await read(server, ended)).rcode === 'REFUSED');
      for (const transport of TRANSPORTS) {
        const refused = { rcode: 'REFUSED', payload: null, ttl: null };
        assert.deepEqual(await read(server, ended, transport), refused, transport);
        assert.equal((await read(server, kept, transport)).payload, 'secret', transport);
      }
    });
  }
});
