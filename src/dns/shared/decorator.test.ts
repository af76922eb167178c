import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Asked,
  ednsQuery,
  option,
  optionsOf,
  query,
  sizedReply,
} from '../../../test/support/dns/fakes.ts';
import type { Transport } from '../../base/network/transport.ts';
import { EDNS_OPTION } from '../../protocol/dns/codes.ts';
import { decodeMessage } from '../../protocol/dns/message/message.ts';
import { ServerCookies } from './cookies.ts';
import { ReplyDecorator } from './edns.ts';

const CLIENT = '0102030405060708';
const COOKIE = option(EDNS_OPTION.COOKIE, CLIENT);
const KEEPALIVE = option(EDNS_OPTION.KEEPALIVE);
const PADDING = option(EDNS_OPTION.PADDING, '00000000');
const ALL: Asked = { options: [PADDING, KEEPALIVE, COOKIE] };

const cookies = new ServerCookies(
  () => new Uint8Array(16),
  () => 1_700_000_000_000,
);

interface Setting {
  readonly transport: Transport;
  readonly asked?: Asked;
  readonly octets?: number;
  readonly room?: number;
  readonly idleMs?: number;
  readonly without?: boolean;
}

/** The finished reply to a query whose plain reply has so many octets. */
function finish({ transport, asked = ALL, octets = 100, room = 65_535, idleMs = 10_000, without }: Setting) {
  const decorator = new ReplyDecorator(transport, {
    cookies: without ? null : cookies,
    idleMs: () => idleMs,
  });
  const request = ednsQuery(7, 'abc', asked);
  const buffer = Buffer.alloc(room);
  buffer.set(sizedReply(request, octets));
  if (!decorator.read(request)) return buffer.subarray(0, octets);
  return buffer.subarray(0, decorator.finish('192.0.2.1', buffer, octets));
}

const codesOf = (reply: Buffer): string =>
  optionsOf(reply)
    .map((each) => each.split(':')[0])
    .join(' ');

test('each transport adds what is its own; padding comes last', () => {
  for (const [transport, codes] of [
    ['udp', '10'],
    ['tcp', '10 11'],
    ['dot', '10 11 12'],
    ['doh', '10 12'],
  ] as const) {
    const reply = finish({ transport });
    assert.equal(codesOf(reply), codes, transport);
    const { answer, id, tc } = decodeMessage(reply)!;
    assert.deepEqual([answer.length, id, tc], [1, 7, false]);
    assert.match(optionsOf(reply)[0]!, new RegExp(`^10:${CLIENT}01000000[0-9a-f]{24}$`));
  }
});

test('what was not asked for is not added, and without EDNS nothing', () => {
  for (const transport of ['udp', 'tcp', 'dot', 'doh'] as const) {
    for (const options of [[], [option(8, '00011800c00002')], [option(65_001)]]) {
      assert.equal(codesOf(finish({ transport, asked: { options } })), '');
    }
    assert.equal(codesOf(finish({ transport, without: true })).includes('10'), false);
  }
  const decorator = new ReplyDecorator('dot', { cookies });
  assert.equal(decorator.read(query(1, 'abc')), false);
  decorator.read(ednsQuery(1, 'abc', ALL));
  const bare = Buffer.alloc(500);
  bare.set(sizedReply(query(1, 'abc'), 100));
  assert.equal(decorator.finish('192.0.2.1', bare, 100), 100, 'a reply without OPT, to a request with one');
});

test('the timeout is in tenths of a second, as far as sixteen bits go', () => {
  for (const [idleMs, expected] of [
    [10_000, '0064'],
    [2500, '0019'],
    [99, '0000'],
    [6_553_500, 'ffff'],
    [99_999_999, 'ffff'],
  ] as const) {
    const reply = finish({ transport: 'tcp', asked: { options: [KEEPALIVE] }, idleMs });
    assert.deepEqual(optionsOf(reply), [`11:${expected}`]);
  }
});

test('padded replies are multiples of 468 octets', () => {
  const asked = { options: [PADDING] };
  for (const [octets, padded] of [
    [100, 468],
    [463, 468],
    [464, 468],
    [465, 936],
    [468, 936],
    [900, 936],
    [65_516, 65_520],
    // The next multiple is more than a message can have.
    [65_517, 65_535],
    [65_531, 65_535],
    [65_532, 65_532],
    [65_535, 65_535],
  ] as const) {
    const reply = finish({ transport: 'doh', asked, octets });
    assert.equal(reply.length, padded, `${octets}`);
    assert.ok(decodeMessage(reply) !== null);
    for (const each of optionsOf(reply)) assert.match(each, /^12:(?:00)*$/);
  }
});

test('a cookie that does not fit makes a UDP reply a truncated one, and nothing longer than its limit', () => {
  for (const [payload, limit] of [
    [1232, 1232],
    [4096, 1232],
    [512, 512],
    [100, 512],
  ] as const) {
    for (const [octets, tc] of [
      [limit - 28, false],
      [limit - 27, true],
      [limit, true],
    ] as const) {
      const reply = finish({ transport: 'udp', asked: { payload, options: [COOKIE] }, octets });
      const message = decodeMessage(reply)!;
      assert.deepEqual([message.tc, message.answer.length], [tc, tc ? 0 : 1], `${octets} of ${payload}`);
      assert.ok(reply.length <= limit);
      assert.equal(codesOf(reply), '10');
    }
  }
});

test('on a stream an option for which there is no room is left out', () => {
  assert.equal(codesOf(finish({ transport: 'tcp', octets: 65_535 - 28 })), '10');
  assert.equal(codesOf(finish({ transport: 'tcp', octets: 65_535 - 27 })), '11');
  assert.equal(codesOf(finish({ transport: 'tcp', octets: 65_535 - 5 })), '');
  assert.equal(decodeMessage(finish({ transport: 'dot', octets: 65_535 }))!.tc, false);
});

test('a client that returns its cookie has proved its address', () => {
  const decorator = new ReplyDecorator('udp', { cookies });
  const cookie = optionsOf(finish({ transport: 'udp' }))[0]!.split(':')[1]!;
  const ask = (hex: string, address: string): boolean =>
    decorator.read(ednsQuery(1, 'abc', { options: [option(10, hex)] })) && decorator.prove(address);
  assert.equal(ask(cookie, '192.0.2.1'), true);
  assert.equal(ask(cookie, '192.0.2.2'), false);
  assert.equal(ask(CLIENT, '192.0.2.1'), false);
  assert.equal(ask(`${cookie.slice(0, -2)}00`, '192.0.2.1'), false);
  const without = new ReplyDecorator('udp', { cookies: null });
  without.read(ednsQuery(1, 'abc', { options: [option(10, cookie)] }));
  assert.equal(without.prove('192.0.2.1'), false);
});
