import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../../base/errors.ts';
import { hostedEnvelope } from '../../dns/query/resolve.ts';
import { RCODE, RRTYPE } from '../../protocol/dns/codes.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { nameFromText } from '../../protocol/dns/name.ts';
import { txtChunks } from '../../protocol/dns/rdata/rdata.ts';
import { errorEnvelope } from '../../protocol/query/envelope.ts';
import { forTerminal, payloadOf, questionOf } from './read.ts';

const ZONES = ['uqrp.net', 'dns.example.com'];
const TOKEN = `svcq${'0'.repeat(52)}`;
const ask = (subject: string, tokens: { option?: string; variable?: string } = {}) =>
  questionOf(subject, { zones: ZONES, option: tokens.option, variable: tokens.variable });

function reply(rcode: number, ...values: readonly (string | Uint8Array)[]): Message {
  const flags = { qr: true, aa: true, tc: false, rd: false, ra: false, ad: false, cd: false };
  const owner = nameFromText('get.a.acme.v1.uqrp.net')!;
  const answer = values.map((value) => ({
    owner,
    type: RRTYPE.TXT,
    class: 1,
    ttl: 60,
    rdata: txtChunks(typeof value === 'string' ? Buffer.from(value) : value),
  }));
  return {
    id: 1,
    opcode: 0,
    rcode,
    ...flags,
    question: [],
    answer,
    authority: [],
    additional: [],
    edns: null,
  };
}

describe('the question of read', () => {
  it('is a key in the first zone, or a full name as it stands', () => {
    for (const [subject, name] of [
      ['greeting.acme.v1', 'get.greeting.acme.v1.uqrp.net'],
      ['Pump-3.Enabled.Plant.V2', 'get.Pump-3.Enabled.Plant.V2.uqrp.net'],
      ['get.greeting.acme.v1', 'get.get.greeting.acme.v1.uqrp.net'],
      ['get.greeting.acme.v1.UQRP.net', 'get.greeting.acme.v1.UQRP.net'],
      ['info.greeting.acme.v1.dns.example.com.', 'info.greeting.acme.v1.dns.example.com'],
      ['get.greeting.acme.v1.other.example', 'get.greeting.acme.v1.other.example'],
    ] as const) {
      assert.deepEqual(ask(subject), { name, shown: subject, asked: name, hasToken: false });
    }
    for (const subject of [
      '',
      'acme.v1',
      'greeting',
      'greeting.acme.x1',
      'a..b.v1',
      `${'a'.repeat(64)}.b.v1`,
      'ä.b.v1',
    ]) {
      assert.throws(() => ask(subject), UsageError, subject);
    }
  });

  it('has the token behind the operation, but not for the namespace public, and the option wins', () => {
    const name = `get.auth-${TOKEN}.greeting.acme.v1.uqrp.net`;
    assert.equal(ask('greeting.acme.v1', { variable: TOKEN }).name, name);
    assert.equal(ask('greeting.acme.v1', { variable: 'a', option: TOKEN }).name, name);
    assert.equal(ask('get.greeting.acme.v1.uqrp.net', { option: TOKEN }).name, name);
    assert.equal(ask(name, { variable: 'a' }).name, name);
    assert.equal(ask('tokyo.time.public.v1', { variable: TOKEN }).name, 'get.tokyo.time.public.v1.uqrp.net');
    assert.throws(() => ask(name, { option: 'a' }), UsageError);
    assert.throws(() => ask('greeting.acme.v1', { option: 'a.b' }), UsageError);
    assert.throws(() => ask('greeting.acme.v1', { option: 'a'.repeat(59) }), UsageError);
  });

  it('never shows a token', () => {
    const own = ask(`get.Auth-${TOKEN}.greeting.acme.v1.uqrp.net`);
    assert.deepEqual([own.shown, own.hasToken], ['get.auth-***.greeting.acme.v1.uqrp.net', true]);
    const given = ask('greeting.acme.v1', { option: TOKEN });
    assert.deepEqual([given.shown, given.hasToken], ['greeting.acme.v1', true]);
    assert.equal(given.asked, 'get.greeting.acme.v1.uqrp.net');
    assert.equal(own.asked, own.shown);
    const long = `${'a.'.repeat(95)}b.c.v1`;
    for (const [subject, option] of [
      [`get.auth-${TOKEN}`, undefined],
      [`get.auth-${TOKEN}.a..v1.uqrp.net`, undefined],
      [`get.auth-${TOKEN}.a.b.v1.uqrp.net`, 'a'],
      [long, TOKEN],
      ['a.b.v1', `${TOKEN}-`],
    ] as const) {
      assert.throws(
        () => ask(subject, option === undefined ? {} : { option }),
        (error: unknown) => error instanceof UsageError && !error.message.includes(TOKEN),
        subject,
      );
    }
  });
});

describe('the payload of a reply', () => {
  const open = { shown: 'a.acme.v1', asked: 'get.a.acme.v1.uqrp.net', hasToken: false };
  const named = { ...open, shown: open.asked };

  it('is the octets of the envelope', () => {
    const octets = Buffer.from([0, 10, 255, 0]);
    assert.deepEqual(
      payloadOf(
        reply(RCODE.NOERROR, hostedEnvelope({ data: octets, plain: false, format: 'bin', ttlSeconds: 300 })),
        open,
      ),
      {
        octets,
        format: 'bin',
        ttl: 60,
      },
    );
  });

  it('is missing for a reason that is told', () => {
    for (const [message, question, text] of [
      [reply(RCODE.NXDOMAIN), open, 'there is no record a.acme.v1'],
      [reply(RCODE.NOERROR), open, 'there is no record a.acme.v1'],
      [
        reply(RCODE.NXDOMAIN),
        { ...open, shown: 'get.a.acme.v1' },
        'there is no record get.a.acme.v1. A key has no operation: try a.acme.v1',
      ],
      [
        reply(RCODE.REFUSED),
        open,
        'a.acme.v1: REFUSED for get.a.acme.v1.uqrp.net (UQRP_ZONES sets the zone). A private namespace needs --token or UQRP_QUERY_TOKEN.',
      ],
      [reply(RCODE.REFUSED), { ...named, hasToken: true }, 'get.a.acme.v1.uqrp.net: REFUSED'],
      [
        reply(RCODE.SERVFAIL),
        open,
        'a.acme.v1: SERVFAIL for get.a.acme.v1.uqrp.net (UQRP_ZONES sets the zone)',
      ],
      [reply(RCODE.NOERROR, 'plain'), open, 'the answer to a.acme.v1 is no envelope of uqrp'],
      [
        reply(RCODE.NOERROR, 'v=svc1;s=ok;t=data;km=1'),
        open,
        'the answer to a.acme.v1 has fields and no payload. "uqrp query" shows them.',
      ],
    ] as const) {
      assert.throws(() => payloadOf(message, question), { name: 'InputError', message: text });
    }
    const refused = reply(RCODE.NOERROR, errorEnvelope('E010'));
    assert.throws(() => payloadOf(refused, open), { name: 'InputError', message: /^a\.acme\.v1: E010 / });
  });
});

describe('a payload on a terminal', () => {
  it('is text without control characters, and a newline; other octets are refused', () => {
    assert.equal(forTerminal(Buffer.from('grüße\u001b[2J')), 'grüße\\u{1b}[2J\n');
    assert.throws(() => forTerminal(Buffer.from([255, 27])), /is 2 octets that are no text/);
  });
});
