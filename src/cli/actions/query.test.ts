import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostedEnvelope } from '../../dns/query/resolve.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { nameFromText } from '../../protocol/dns/name.ts';
import { txtChunks } from '../../protocol/dns/rdata/rdata.ts';
import { completeName, noReply, render } from './query.ts';

function replyWith(payload: string): Message {
  const rdata = txtChunks(
    hostedEnvelope({ data: Buffer.from(payload), plain: false, format: 'text', ttlSeconds: 300 }),
  );
  const owner = nameFromText('get.a.acme.v1.uqrp.net')!;
  const flags = { qr: true, aa: true, tc: false, rd: false, ra: false, ad: false, cd: false };
  const answer = [{ owner, type: RRTYPE.TXT, class: 1, ttl: 300, rdata }];
  return {
    id: 1,
    opcode: 0,
    rcode: 0,
    ...flags,
    question: [],
    answer,
    authority: [],
    additional: [],
    edns: null,
  };
}

describe('query', () => {
  it('shows control characters of a payload as text on a terminal, and as they are in a pipe (security finding 11)', () => {
    const hostile = 'a\u001b]0;OWNED\u0007\rb\u009b2J\u202ec\u007f\n\td';
    const name = 'get.a.acme.v1.uqrp.net';
    const piped = render(replyWith(hostile), { name, isTerminal: false });
    assert.ok(piped.endsWith(`  ${hostile}`));
    const shown = render(replyWith(hostile), { name, isTerminal: true });
    assert.ok(shown.endsWith('  a\\u{1b}]0;OWNED\\u{7}\\u{d}b\\u{9b}2J\\u{202e}c\\u{7f}\n\td'), shown);
    assert.ok(
      render(replyWith('gr\u00fc\u00df \u{1f600}'), { name, isTerminal: true }).endsWith(
        'gr\u00fc\u00df \u{1f600}',
      ),
    );
  });

  it('adds the first zone to a name in no zone, unless the name ends in a dot', () => {
    const zones = ['uqrp.net', 'dns.example.com'];
    for (const [name, whole] of [
      ['get.a.acme.v1', 'get.a.acme.v1.uqrp.net'],
      ['get.a.acme.v1.DNS.example.com', 'get.a.acme.v1.DNS.example.com'],
      ['get.a.acme.v1.uqrp.net.', 'get.a.acme.v1.uqrp.net'],
      ['uqrp.net', 'uqrp.net'],
      ['example.com', 'example.com.uqrp.net'],
      ['example.com.', 'example.com'],
    ] as const) {
      assert.equal(completeName(name, zones), whole);
    }
  });

  it('says what to look at when no reply comes', () => {
    const server = { host: '::1', port: 5300, ca: null };
    const failed = (code: string) => Object.assign(new Error('text of the system'), { code });
    assert.match(noReply(failed('ECONNREFUSED'), server, 'udp'), /is the server running on \[::1\]:5300\?$/);
    assert.match(
      noReply(new DOMException('', 'TimeoutError'), server, 'doh'),
      /^no reply over doh within 5 s: /,
    );
    assert.equal(
      noReply(failed('ENOTFOUND'), { ...server, host: 'a.b' }, 'tcp'),
      'the server name a.b has no address',
    );
    assert.match(
      noReply(failed('EPROTO'), server, 'dot'),
      /^no answer over dot from .*: text of the system$/,
    );
  });
});
