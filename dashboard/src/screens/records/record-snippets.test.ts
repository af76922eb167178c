import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { digOverHttps, plainDig, queryName } from '../tokens/token-command.ts';
import { recordSnippets } from './record-snippets.ts';

const meta = {
  zones: ['uqrp.net'],
  endpoints: { doh: 'https://localhost:8443/dns-query', dns: { host: 'localhost', port: 5300 } },
} as unknown as Meta;
const KEY = 'greeting.acme.v1';

function codeOf(name: string, isOpen: boolean): string {
  return (
    recordSnippets(KEY, meta, 'http://localhost:8080', isOpen).find((one) => one.name === name)?.code ?? ''
  );
}

describe('a record as commands', () => {
  it('reads a private one over HTTPS alone, with a placeholder for the token', () => {
    assert.equal(
      codeOf('dig', false),
      'dig @localhost -p 8443 +https TXT "get.auth-$QUERY_TOKEN.greeting.acme.v1.uqrp.net" +short',
    );
    assert.ok(codeOf('node', false).includes('process.env.QUERY_TOKEN'));
  });

  it('reads an open one also over plain DNS', () => {
    const lines = codeOf('dig', true).split('\n');
    assert.equal(lines[1], 'dig @localhost -p 5300 TXT "get.greeting.acme.v1.uqrp.net" +short');
    assert.ok(!codeOf('node', true).includes('QUERY_TOKEN'));
  });

  it('names ports and paths only where they are not the usual ones', () => {
    const usual = {
      endpoints: { doh: 'https://dns.example/x', dns: { host: 'dns.example', port: 53 } },
    } as unknown as Meta;
    assert.equal(digOverHttps('n', usual), 'dig @dns.example +https=/x TXT n +short');
    assert.equal(plainDig('n', usual), 'dig @dns.example TXT n +short');
    const none = { endpoints: { doh: null, dns: null } } as unknown as Meta;
    assert.deepEqual([digOverHttps('n', none), plainDig('n', none)], [null, null]);
    assert.equal(queryName('a.b.v1', 'svcq1', 'z.net'), 'get.auth-svcq1.a.b.v1.z.net');
  });
});
