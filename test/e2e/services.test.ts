import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ask } from '../../src/process/dns-client.ts';
import { RRTYPE, rcodeName } from '../../src/protocol/dns/codes.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { txtValue } from '../../src/protocol/dns/rdata/rdata.ts';
import { geoipPaths } from '../../src/services/geoip-files.ts';
import type { OpenApi } from '../support/http/openapi/document.ts';
import { createValidator } from '../support/http/openapi/validator.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { certificate, eventually, getHttps } from './client.ts';

const [, inTheBox] = geoipPaths('', null);
const ipv4Only = join(dirname(inTheBox ?? ''), 'geo-whois-asn-country-ipv4.mmdb');
const installed = { skip: !existsSync(ipv4Only) && 'the database is an optional package' };
const IPV6 = 'geoip.ip-2001-4860-4860--8888.public.v1';

describe('computed services of a whole server', () => {
  let server: Uqrp;

  before(async () => {
    server = await startUqrp({ UQRP_WORKERS: '2', UQRP_BTC: 'on' });
  });
  after(() => server.remove());

  /** Response code and envelope. */
  async function told(name: string): Promise<string> {
    const message = await ask(nameFromText(`${name}.uqrp.net`)!, RRTYPE.TXT, {
      server: { host: '127.0.0.1', port: server.ports.dns, ca: certificate(server) },
      transport: 'udp',
      deadlineMs: 5000,
    });
    const answer = message.answer[0];
    const text = answer === undefined ? '' : Buffer.from(txtValue(answer.rdata)!).toString('latin1');
    return `${rcodeName(message.rcode)} ${text}`;
  }

  it('answers without a token', async () => {
    for (const [name, wanted] of [
      ['get.32-f-to-c.units.public.v1', /^NOERROR v=svc1;.*;val=32;from=f;to=c;res=0;cat=temperature$/],
      ['get.2026-03-03.moon.public.v1', /^NOERROR .*;phase=full;/],
      ['get.tokyo.sun.public.v1', /^NOERROR .*;state=normal;/],
      ['get.btc.public.v1', /^NOERROR .*;src=mock;/],
      ['info.units.public.v1', /^NOERROR v=svc1;s=ok;t=data;e=plain;f=json;ttl=3600;d=\{/],
      ['get.me.sun.public.v1', /^FORMERR $/],
      ['get.sun.public.v1', /^FORMERR $/],
      ['info.x.acme.v1', /^REFUSED $/],
    ] as const) {
      assert.match(await told(name), wanted, name);
    }
  });

  it('finding L8 of the audit: docs/openapi-dns.json describes what is answered over HTTPS', async () => {
    const path = new URL('../../docs/openapi-dns.json', import.meta.url);
    const described = JSON.parse(readFileSync(path, 'utf8')) as OpenApi;
    const validator = createValidator(described, true);
    const help = 'AAABAAABAAAAAAAAA2dldARoZWxwBnB1YmxpYwJ2MQR1cXJwA25ldAAAEAAB';
    for (const [target, status, schema] of [
      ['/resolve?name=get.1-km-to-mi.units.public.v1.uqrp.net&type=TXT&do=1', 200, 'DnsAnswer'],
      ['/resolve?name=get.a.none.v1.uqrp.net&type=TXT&edns_client_subnet=::/0', 200, 'DnsAnswer'],
      ['/resolve?name=get.a.b.public.v1.uqrp.net&type=TXT', 200, 'DnsAnswer'],
      ['/resolve', 400, 'Error'],
      ['/schema?q=info.sun.public.v1', 200, null],
      ['/schema', 400, 'Error'],
      ['/schema?q=info.x.acme.v1', 403, 'Error'],
      ['/schema?q=info.x.public.v1', 404, 'Error'],
      [`/dns-query?dns=${help}`, 200, null],
      ['/dns-query?dns=AA', 400, 'Error'],
    ] as const) {
      const answer = await getHttps(server, target);
      assert.equal(answer.status, status, target);
      const responses = described.paths[target.split('?')[0]!]!.get!.responses as object;
      assert.ok(String(status) in responses, target);
      const type = String(answer.headers['content-type']).split(';')[0];
      assert.equal(
        type,
        target.startsWith('/dns-query') && status === 200 ? 'application/dns-message' : 'application/json',
      );
      if (schema === null) continue;
      const fault = validator.faultOf(`/components/schemas/${schema}`, JSON.parse(answer.body));
      assert.equal(fault, null, `${target}: ${answer.body}`);
    }
  });

  it('serves schemas over HTTPS', async () => {
    const { status, body, headers } = await getHttps(server, '/schema?q=info.sun.public.v1.uqrp.net');
    assert.equal(status, 200);
    assert.equal(headers['access-control-allow-origin'], '*');
    const document = JSON.parse(body);
    assert.equal(document.resource, 'sun');
    assert.ok(
      document.http_format.schema_endpoint.endsWith(
        `:${server.ports.doh}/schema?q=info.sun.public.v1.uqrp.net`,
      ),
    );
    for (const [q, wanted] of [
      ['', 400],
      ['?q=x', 400],
      ['?q=info.x.acme.v1.uqrp.net', 403],
      ['?q=info.x.public.v1.uqrp.net', 404],
    ] as const) {
      assert.equal((await getHttps(server, `/schema${q}`)).status, wanted, q);
    }
  });

  it('takes up another database of addresses while it runs', installed, async () => {
    // Many queries, so that every worker caches a reply.
    for (let i = 0; i < 8; i++) assert.match(await told(IPV6), /;cc=US;/);
    server.cli(['geoip', 'update', '--file', ipv4Only]);
    const gone = async (): Promise<boolean> => (await told(IPV6)).includes('code=E004');
    await eventually(async () => {
      for (let i = 0; i < 8; i++) if (!(await gone())) return false;
      return true;
    }, 10_000);
    assert.throws(() => server.cli(['geoip', 'update', '--file', 'package.json']));
    server.cli(['geoip', 'update', '--file', inTheBox!]);
    await eventually(async () => (await told(IPV6)).includes('cc=US'));
  });
});
