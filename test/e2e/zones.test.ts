import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually } from './client.ts';

describe('zones with full names, and listeners apart', () => {
  let server: Uqrp;
  const env = {
    UQRP_ZONES: 'dns.example.com,example.co.uk',
    UQRP_METRICS: '127.0.0.2:0',
    UQRP_HTTP_HOST: '127.0.0.1',
    UQRP_HOST: '127.0.0.3',
  };
  before(async () => {
    server = await startUqrp(env);
  });
  after(() => server.remove());

  const payloadOf = (name: string): string | null => {
    const port = String(server.ports.dns);
    const { answers } = JSON.parse(server.cli(['--json', 'query', name, '--port', port]));
    return answers[0]?.payload ?? null;
  };

  it('answers below each of UQRP_ZONES, with keys of their own', async () => {
    const customer = account(server);
    await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const data = Buffer.from('hello').toString('base64');
    const written = await customer.call('POST', '/records', { record: { key: 'greeting.acme.v1', data } });
    assert.equal(written.status, 201);
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    // The command fails with REFUSED until the change has reached the view.
    await eventually(async () => {
      try {
        return payloadOf('get.greeting.acme.v1.dns.example.com') === 'hello';
      } catch {
        return false;
      }
    });
    assert.equal(payloadOf('get.greeting.acme.v1.example.co.uk'), 'hello');
    assert.equal(payloadOf('get.greeting.acme.v1'), 'hello', 'the first zone is added');
    const ds = server.cli(['dnssec', 'ds']);
    assert.match(ds, /^dns\.example\.com\. /m);
    assert.match(ds, /^example\.co\.uk\. /m);
  });

  it('takes the longest of UQRP_ZONES from the length of a key', async () => {
    const customer = account(server, 'long@example.net');
    await customer.call('POST', '/namespaces', { namespace: { name: 'long' } });
    // 253 less `get.`, `auth-` with 56 letters and a dot, the dot before the zone, and `dns.example.com`.
    const room = 253 - 4 - 62 - 1 - 'dns.example.com'.length;
    const keyOf = (length: number): string => {
      const params = `${'a'.repeat(50)}.${'b'.repeat(50)}.`;
      return `${params}${'c'.repeat(length - params.length - '.r.long.v1'.length)}.r.long.v1`;
    };
    const write = async (key: string): Promise<number> =>
      (await customer.call('POST', '/records', { record: { key, data: '' } })).status;
    assert.equal(keyOf(room).length, room);
    assert.equal(await write(keyOf(room)), 201);
    assert.equal(await write(keyOf(room + 1)), 422);
  });

  it('serves metrics on UQRP_METRICS alone, and health on both', async () => {
    const own = `http://127.0.0.2:${server.ports.metrics}`;
    const rest = `http://127.0.0.1:${server.ports.http}`;
    assert.match(await (await fetch(`${own}/metrics`)).text(), /^uqrp_http_requests_total/m);
    assert.equal((await fetch(`${rest}/metrics`)).status, 404);
    for (const base of [own, rest]) {
      assert.equal((await fetch(`${base}/livez`)).status, 200);
      assert.equal((await fetch(`${base}/readyz`)).status, 200);
    }
    await assert.rejects(
      fetch(`http://127.0.0.3:${server.ports.http}/livez`),
      'REST binds UQRP_HTTP_HOST alone',
    );
  });
});
