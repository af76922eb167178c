import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_NAMES, escapeHtml, filled, hasMarks, marked, type ServerNames } from './fill.ts';

const OTHER: ServerNames = {
  zone: 'dns.example.com',
  origin: 'https://api.example.com',
  dns: { host: '2001:db8::1', dns: 53, dot: 853, doh: 443 },
  nameServer: 'ns1.dns.example.com',
};

/** As a document has it, as a reader of `names` sees it. */
function seen(text: string, names: ServerNames): string {
  return filled(marked(text), names, String);
}

const COMMANDS = [
  'dig @127.0.0.1 -p 5300 +short TXT get.a.b.v1.uqrp.net',
  'kdig @127.0.0.1 -p 8443 +https TXT get.a.b.v1.uqrp.net',
  'uqrp read a.b.v1 --server 127.0.0.1 --port 5300',
  './example 127.0.0.1 5300 a.b.v1',
  'nslookup get.a.b.v1.uqrp.net 127.0.0.1:5300',
  "curl 'https://localhost:8443/resolve?name=get.a.b.v1.uqrp.net'",
  'curl http://127.0.0.1:8080/livez http://localhost:8080/readyz http://HOST:8080/dns-query',
];

describe('names of the server in commands', () => {
  it('are those of this server, without the ports that are standard', () => {
    assert.deepEqual(
      COMMANDS.map((command) => seen(command, OTHER)),
      [
        'dig @2001:db8::1 +short TXT get.a.b.v1.dns.example.com',
        'kdig @2001:db8::1 +https TXT get.a.b.v1.dns.example.com',
        'uqrp read a.b.v1 --server 2001:db8::1',
        './example 2001:db8::1 53 a.b.v1',
        'nslookup get.a.b.v1.dns.example.com [2001:db8::1]:53',
        "curl 'https://api.example.com/resolve?name=get.a.b.v1.dns.example.com'",
        'curl https://api.example.com/livez https://api.example.com/readyz https://api.example.com/dns-query',
      ],
    );
  });

  it('have ports where they are not standard', () => {
    const dns = { host: '192.0.2.1', dns: 1053, dot: 1853, doh: 1443 };
    const names = { ...OTHER, dns };
    assert.equal(seen(COMMANDS[0]!, names), 'dig @192.0.2.1 -p 1053 +short TXT get.a.b.v1.dns.example.com');
    assert.equal(seen(COMMANDS[2]!, names), 'uqrp read a.b.v1 --server 192.0.2.1 --port 1053');
    assert.equal(seen('https://localhost:8443/dns-query', names), 'https://api.example.com:1443/dns-query');
  });

  it('are those of the zone where this process answers no DNS', () => {
    const names = { ...OTHER, dns: null };
    assert.equal(seen(COMMANDS[0]!, names), 'dig @ns1.dns.example.com +short TXT get.a.b.v1.dns.example.com');
    assert.equal(seen('https://localhost:8443/resolve', names), 'https://ns1.dns.example.com/resolve');
  });

  it('are the text of the document by default', () => {
    for (const command of COMMANDS.slice(0, 5)) assert.equal(seen(command, DEFAULT_NAMES), command);
  });

  it('leave other names, ports and addresses alone', () => {
    for (const text of [
      'myuqrp.net uqrp.network x-uqrp.net',
      'dig @127.0.0.1 -p 53001',
      'UQRP_HOST=127.0.0.1 UQRP_HTTP_PORT=8080',
      'nats://127.0.0.1:4222',
      'http://127.0.0.1:80800 10.127.0.0.1:5300',
    ])
      assert.equal(marked(text), text);
  });

  it('are data in HTML', () => {
    const names = { ...OTHER, zone: '"><script>&\'' };
    assert.equal(filled(marked('get.uqrp.net'), names, escapeHtml), 'get.&quot;&gt;&lt;script&gt;&amp;&#39;');
  });

  it('fail at a mark without a value, and leave no mark', () => {
    assert.throws(() => filled('\u{E000}nothing\u{E001}', OTHER, String), /no value for the mark "nothing"/);
    assert.equal(hasMarks(marked('uqrp.net')), true);
    assert.equal(hasMarks(seen('uqrp.net', OTHER)), false);
  });
});
