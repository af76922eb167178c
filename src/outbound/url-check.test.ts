import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DnsAnswer, type DnsReply, startDnsServer } from '../../test/support/outbound/dns-server.ts';
import { makeResolve, type Resolve } from './connection.ts';
import { URL_FAULTS } from './target.ts';
import { checkWebhookUrl } from './url-check.ts';

const GOOD4 = '93.184.215.14';
const GOOD6 = '2606:2800:21f:cb07:6820:80da:af6b:8b2c';
const { signal } = new AbortController();

/** A chain of aliases from the asked name on, and an address at its end. */
function chain(aliases: readonly string[], address: string): DnsAnswer[] {
  const links = aliases.map((data, index): DnsAnswer => {
    const name = aliases[index - 1];
    return { type: 'CNAME', data, ...(name === undefined ? {} : { name }) };
  });
  const type = address.includes(':') ? 'AAAA' : 'A';
  return [...links, { type, data: address, ...(aliases.length > 0 ? { name: aliases.at(-1)! } : {}) }];
}

const a = (data: string): DnsAnswer => ({ type: 'A', data });
const aaaa = (data: string): DnsAnswer => ({ type: 'AAAA', data });
const NXDOMAIN = 3;
const SERVFAIL = 2;

/** Host, what the server says to A and to AAAA, and whether the host may be registered. */
const TABLE: readonly [string, DnsReply, DnsReply, boolean][] = [
  ['both.example.com', [a(GOOD4)], [aaaa(GOOD6)], true],
  ['four.example.com', [a(GOOD4)], [], true],
  ['six.example.com', [], [aaaa(GOOD6)], true],
  ['private.example.com', [a('10.0.0.1')], [], false],
  ['mixed.example.com', [a(GOOD4), a('10.0.0.1')], [aaaa(GOOD6)], false],
  ['private6.example.com', [a(GOOD4)], [aaaa('fd00::1')], false],
  ['mapped6.example.com', [a(GOOD4)], [aaaa('::ffff:10.0.0.1')], false],
  ['alias.example.com', chain(['cdn.example.net'], GOOD4), chain(['cdn.example.net'], GOOD6), true],
  ['badalias.example.com', chain(['db.corp'], '10.0.0.1'), [], false],
  ['longalias.example.com', chain(['a.example.net', 'b.example.org', 'db.corp'], '192.168.0.1'), [], false],
  ['badalias6.example.com', [], chain(['a.example.net', 'b.example.org'], '::1'), false],
  ['half.example.com', [a('127.0.0.1')], SERVFAIL, false],
  ['goodhalf.example.com', SERVFAIL, [aaaa(GOOD6)], true],
  ['alone.example.com', chain(['nowhere.example.net'], GOOD4).slice(0, 1), [], true],
  ['unknown.example.com', NXDOMAIN, NXDOMAIN, true],
  ['broken.example.com', SERVFAIL, SERVFAIL, true],
];

describe('the check of a URL at registration', () => {
  it('asks for both families and follows aliases to their addresses', async () => {
    const server = await startDnsServer((type, name) => {
      const row = TABLE.find(([host]) => host === name);
      assert.ok(row !== undefined, name);
      return type === 'A' ? row[1] : row[2];
    });
    try {
      const resolve = makeResolve([server.address]);
      for (const [host, , , isGood] of TABLE) {
        server.asked.length = 0;
        const fault = await checkWebhookUrl(`https://${host}/`, resolve, signal);
        assert.equal(fault, isGood ? null : URL_FAULTS.host, host);
        assert.deepEqual(server.asked.toSorted(), [`A ${host}`, `AAAA ${host}`]);
      }
    } finally {
      server.close();
    }
  });

  it('asks for nothing when the text decides', async () => {
    const never: Resolve = () => assert.fail('no lookup');
    const table: readonly [string, string | null][] = [
      ['http://hooks.example.com/', URL_FAULTS.notHttps],
      ['https://localhost/', URL_FAULTS.host],
      ['https://10.0.0.1/', URL_FAULTS.host],
      ['https://8.8.8.8/', null],
      ['https://[2606:4700:4700::1111]:8443/', null],
    ];
    for (const [text, expected] of table) assert.equal(await checkWebhookUrl(text, never, signal), expected);
  });

  it('waits two seconds at most, and less when its caller does', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const knows = (addresses: readonly string[]): Resolve => {
      return (_host, end) =>
        new Promise((resolve) => end.addEventListener('abort', () => resolve(addresses), { once: true }));
    };
    // One family is silent; what the other said counts.
    for (const [addresses, expected] of [
      [[], null],
      [[GOOD4], null],
      [['10.0.0.1'], URL_FAULTS.host],
    ] as const) {
      const pending = checkWebhookUrl('https://slow.example.com/', knows(addresses), signal);
      t.mock.timers.tick(2000);
      assert.equal(await pending, expected);
    }
    const controller = new AbortController();
    const pending = checkWebhookUrl('https://slow.example.com/', knows([]), controller.signal);
    controller.abort();
    assert.equal(await pending, null);
  });

  it('keeps what one family said when the other stays silent', async () => {
    const server = await startDnsServer((type) => (type === 'A' ? [a('10.0.0.1')] : 'silence'));
    const controller = new AbortController();
    try {
      const resolve: Resolve = (host, end) => {
        const pending = makeResolve([server.address])(host, end);
        setTimeout(() => controller.abort(), 1000);
        return pending;
      };
      const fault = await checkWebhookUrl('https://half.example.com/', resolve, controller.signal);
      assert.equal(fault, URL_FAULTS.host);
    } finally {
      server.close();
    }
  });
});
