import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Reader } from '../../sdk/src/dns.ts';
import { hostedEnvelope } from '../../src/dns/query/resolve.ts';
import { exchangeUdp } from '../../src/process/dns-client.ts';
import { decodeChange, encodeChange } from '../../src/protocol/changes/change-codec.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { encodeQuery } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { openLmdbReader } from '../../src/view/reader.ts';
import type { HostedRecord } from '../../src/view/view.ts';
import { openLmdbWriter } from '../../src/view/writer.ts';
import { tlsFetch } from '../support/sdk/tls-fetch.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { upserted } from '../support/view/view-changes.ts';
import { certificate, eventually, getHttps, read } from './client.ts';

const HEAD = 'v=svc1;s=ok;t=data;e=plain;f=text;ttl=300;d=';

describe('records in plain text', () => {
  let server: Uqrp;
  let owner: Account;
  let token: string;
  let readers: readonly Reader[];
  before(async () => {
    server = await startUqrp({ UQRP_WORKERS: '1' });
    owner = account(server);
    await owner.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    server.cli(['namespace', 'public-read', 'acme', 'on']);
    const { body } = await owner.call('POST', '/namespaces', { namespace: { name: 'locked' } });
    const minted = await owner.call('POST', `/namespaces/${(body as { id: string }).id}/query_tokens`, {
      name: 'x',
    });
    ({ token } = minted.body as { token: string });
    const fetch = tlsFetch(certificate(server));
    readers = [
      new Reader({ servers: [`127.0.0.1:${server.ports.dns}`] }),
      new Reader({ doh: `https://localhost:${server.ports.doh}/dns-query`, fetch }),
    ];
  });
  after(() => server.remove());

  /** @returns the name to ask for, without the zone */
  async function put(key: string, value: string, encoding = 'plain'): Promise<string> {
    const data = Buffer.from(value).toString('base64');
    const record = { key, data, content_type: 'text/plain', encoding };
    const { status, body } = await owner.call('POST', '/records/bulk', { records: [record] });
    assert.equal(status, 200, JSON.stringify(body));
    const auth = key.endsWith('.locked.v1') ? `auth-${token}.` : '';
    const name = `get.${auth}${key}`;
    await eventually(async () => (await read(server, name, 'tcp')).payload === value);
    return name;
  }

  async function dig(name: string): Promise<string> {
    const args = ['+short', '@127.0.0.1', '-p', String(server.ports.dns), 'TXT', `${name}.uqrp.net`];
    return (await promisify(execFile)('dig', args)).stdout.trimEnd();
  }

  const VALUES = [
    'a;b=c;d=e',
    'hello; world',
    'say "no" \\ ok',
    'grüße 🙂',
    '100% %41',
    ' d= ',
    '',
    'x'.repeat(2586),
  ];

  it('read back over UDP, TCP, DoT and DoH, by the SDK and at /resolve', async () => {
    for (const [i, value] of VALUES.entries()) {
      const key = `k${i}.acme.v1`;
      const name = await put(key, value);
      for (const transport of ['udp', 'tcp', 'dot', 'doh'] as const) {
        assert.equal((await read(server, name, transport)).payload, value, transport);
      }
      for (const reader of readers) {
        assert.equal((await reader.text(key)).data, value);
        assert.equal((await reader.raw(key)).fields.get('e'), 'plain');
      }
      const { body } = await getHttps(server, `/resolve?name=${name}.uqrp.net&type=TXT`);
      const [answer] = (JSON.parse(body) as { Answer: { data: string }[] }).Answer;
      assert.equal(octetsOf(answer!.data), `${HEAD}${value}`);
      assert.equal(octetsOf(await dig(name)), `${HEAD}${value}`);
    }
  });

  it('are what dig prints', async () => {
    const name = await put('one.acme.v1', 'hello; world');
    assert.equal(await dig(name), `"${HEAD}hello; world"`);
    const change = { records: [{ key: 'one.acme.v1', data: 'aGk=', content_type: 'text/plain' }] };
    await owner.call('POST', '/records/bulk', change);
    await eventually(async () => (await read(server, name)).payload === 'hi');
    assert.equal(await dig(name), '"v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=aGk="');
  });

  it('hold a third more in one answer over UDP', async () => {
    // A name of 98 octets, whose answer is neither signed nor open.
    const fits = async (encoding: string, length: number): Promise<boolean> => {
      const label = `${'n'.repeat(98 - `get.auth-${token}..locked.v1.uqrp.net`.length - 2)}`;
      const name = await put(`${label}.locked.v1`, 'x'.repeat(length), encoding);
      const wire = nameFromText(`${name}.uqrp.net`)!;
      assert.equal(wire.length, 98);
      const edns = { payload: 1232, dnssecOk: false };
      const query = encodeQuery(wire, RRTYPE.TXT, { id: 7, rd: true, edns });
      const target = { host: '127.0.0.1', port: server.ports.dns, ca: null };
      const reply = await exchangeUdp(query, target, 5000);
      return (reply[2]! & 2) === 0;
    };
    assert.deepEqual([await fits('b64', 786), await fits('b64', 787)], [true, false]);
    assert.deepEqual([await fits('plain', 1046), await fits('plain', 1047)], [true, false]);
  });

  it('are Base64 to a node of an earlier release, which leaves the member of the change out', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'uqrp-plain-'));
    let commits = 1;
    const writer = openLmdbWriter({ path: join(dir, 'view') });
    const text = { encoding: 'plain' } as const;
    const change = {
      seq: 1,
      at: 1,
      owner: 'a',
      cause: 'direct' as const,
      ...upserted('r.acme.v1', 'a;b', text),
    };
    const row = encodeChange(change);
    const { encoding, ...members } = JSON.parse(row.body);
    assert.equal(encoding, 'plain');
    await writer.apply([decodeChange(row)], 1);
    const reader = openLmdbReader({
      path: join(dir, 'view'),
      freshness: { commits: () => commits, generation: () => 0 },
    });
    const answer = () => hostedEnvelope(reader.record('r.acme.v1') as HostedRecord).toString();
    assert.equal(answer(), `${HEAD}a;b`);
    await writer.apply([decodeChange({ ...row, seq: 2, body: JSON.stringify(members) })], 2);
    commits++;
    reader.refresh();
    assert.equal(answer(), 'v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=YTti');
    await reader.close();
    await writer.close();
    rmSync(dir, { recursive: true, force: true });
  });
});

/** The octets of a TXT record in presentation form, as text: its strings joined first. */
function octetsOf(data: string): string {
  const octets = [...data.matchAll(/"((?:[^"\\]|\\.)*)"/g)].flatMap(([, string = '']) =>
    [...string.matchAll(/\\(\d{3})|\\(.)|(.)/gs)].map(([, decimal, escaped, letter]) =>
      decimal === undefined ? (escaped ?? letter)!.charCodeAt(0) : Number(decimal),
    ),
  );
  return Buffer.from(octets).toString();
}
