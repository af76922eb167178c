import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ednsQuery, option, optionsOf, query, sizedReply } from '../../../test/support/dns/fakes.ts';
import { EDNS_OPTION } from '../../protocol/dns/codes.ts';
import { findOption } from '../../protocol/dns/message/edns.ts';
import { decodeMessage } from '../../protocol/dns/message/message.ts';
import { decodeRequest, isRequestFault } from '../../protocol/dns/message/request.ts';
import { optOfReply } from '../../protocol/dns/skim.ts';
import { appendOption, RequestOptions, truncateReply } from './edns.ts';

const CLIENT = '0102030405060708';
const COOKIE = option(EDNS_OPTION.COOKIE, CLIENT);
const PADDING = option(EDNS_OPTION.PADDING, '0000');
const KEEPALIVE = option(EDNS_OPTION.KEEPALIVE);
const UNKNOWN = option(65_001, 'ff');

function read(request: Uint8Array) {
  const options = new RequestOptions();
  if (!options.read(request)) return null;
  const { cookieOctets, keepalive, padding, udpLimit, cookie } = options;
  return { cookieOctets, keepalive, padding, udpLimit, cookie: Buffer.from(cookie).toString('hex', 0, 8) };
}

test('what a request asks for', () => {
  const none = { cookieOctets: 0, keepalive: false, padding: false };
  const table: [name: string, request: Buffer, asked: object | null][] = [
    ['no EDNS', query(1, 'a'), null],
    ['no options', ednsQuery(1, 'a'), null],
    ['an unknown one', ednsQuery(1, 'a', { options: [UNKNOWN] }), null],
    [
      'a cookie',
      ednsQuery(1, 'a', { options: [UNKNOWN, COOKIE] }),
      { ...none, cookieOctets: 8, cookie: CLIENT },
    ],
    [
      'the first of two cookies',
      ednsQuery(1, 'a', { options: [COOKIE, option(EDNS_OPTION.COOKIE, '09')] }),
      { ...none, cookieOctets: 8, cookie: CLIENT },
    ],
    ['keepalive', ednsQuery(1, 'a', { options: [KEEPALIVE] }), { ...none, keepalive: true }],
    [
      'keepalive with a timeout',
      ednsQuery(1, 'a', { options: [option(EDNS_OPTION.KEEPALIVE, '0064')] }),
      null,
    ],
    ['padding', ednsQuery(1, 'a', { options: [PADDING] }), { ...none, padding: true }],
    [
      'empty padding',
      ednsQuery(1, 'a', { options: [option(EDNS_OPTION.PADDING)] }),
      { ...none, padding: true },
    ],
    [
      'all',
      ednsQuery(1, 'a', { options: [COOKIE, KEEPALIVE, PADDING] }),
      { cookieOctets: 8, keepalive: true, padding: true },
    ],
    ['another version', ednsQuery(1, 'a', { version: 1, options: [COOKIE] }), null],
  ];
  for (const [name, request, asked] of table) {
    const got = read(request);
    assert.equal(got === null, asked === null, name);
    for (const [key, value] of Object.entries(asked ?? {}))
      assert.equal(got![key as 'cookie'], value, `${name}: ${key}`);
  }
});

test('lengths of a cookie', () => {
  for (const [octets, allowed] of [
    [0, false],
    [7, false],
    [8, true],
    [9, false],
    [15, false],
    [16, true],
    [24, true],
    [40, true],
    [41, false],
  ] as const) {
    const request = ednsQuery(1, 'a', { options: [option(EDNS_OPTION.COOKIE, 'aa'.repeat(octets))] });
    assert.equal(read(request)?.cookieOctets ?? 0, allowed ? octets : 0, `${octets}`);
  }
});

test('the payload bounds a reply over UDP between 512 and 1,232 octets', () => {
  for (const [payload, limit] of [
    [0, 512],
    [511, 512],
    [513, 513],
    [1232, 1232],
    [4096, 1232],
  ] as const) {
    assert.equal(read(ednsQuery(1, 'a', { payload, options: [COOKIE] }))?.udpLimit, limit);
  }
});

test('a cookie without a question', () => {
  const whole = ednsQuery(1, 'a', { options: [COOKIE] });
  const bare = Buffer.concat([whole.subarray(0, 12), whole.subarray(query(1, 'a').length)]);
  bare.writeUInt16BE(0, 4);
  assert.equal(read(bare)?.cookieOctets, 8);
});

test('agrees with the decoder on any input', () => {
  const options = fc.array(
    fc.record({
      code: fc.constantFrom(3, 8, 10, 10, 11, 12, 15, 65_001),
      data: fc.oneof(
        fc.constantFrom(0, 8, 24).map((n) => new Uint8Array(n)),
        fc.uint8Array({ maxLength: 50 }),
      ),
    }),
    { maxLength: 5 },
  );
  const damage = fc.option(
    fc.record({ at: fc.nat(120), octet: fc.integer({ min: 0, max: 255 }), cut: fc.nat(20) }),
  );
  fc.assert(
    fc.property(options, fc.nat(2000), damage, (list, payload, harm) => {
      let request: Uint8Array = ednsQuery(1, 'abc', { payload, options: list });
      if (harm !== null) {
        request[harm.at % request.length] = harm.octet;
        request = request.subarray(0, request.length - harm.cut);
      }
      const got = read(request);
      const decoded = decodeRequest(request, request.length);
      if (decoded === null || isRequestFault(decoded) || decoded.edns === null) return;
      const cookie = findOption(decoded.edns.options, EDNS_OPTION.COOKIE)?.data.length ?? 0;
      const keepalive = decoded.edns.options.some(
        ({ code, data }) => code === EDNS_OPTION.KEEPALIVE && data.length === 0,
      );
      const padding = findOption(decoded.edns.options, EDNS_OPTION.PADDING) !== null;
      assert.equal(got !== null, cookie > 0 || keepalive || padding);
      if (got === null) return;
      assert.deepEqual([got.cookieOctets, got.keepalive, got.padding], [cookie, keepalive, padding]);
    }),
    { numRuns: 500 },
  );
});

test('the OPT record of a reply, and what is appended to it', () => {
  const plain = sizedReply(query(1, 'abc'), 200);
  assert.equal(optOfReply(plain, plain.length), 0);
  const reply = Buffer.alloc(300);
  const bare = sizedReply(ednsQuery(1, 'abc'), 200);
  reply.set(bare);
  const opt = optOfReply(reply, 200);
  assert.equal(opt, 200 - 11);
  const once = appendOption(reply, 200, opt, 10, 8, Buffer.from(CLIENT, 'hex'));
  const twice = appendOption(reply, once, opt, 12, 5, null);
  assert.equal(optOfReply(reply, twice), opt);
  assert.deepEqual(optionsOf(reply.subarray(0, twice)), [`10:${CLIENT}`, '12:0000000000']);
  assert.equal(decodeMessage(reply.subarray(0, twice))!.answer.length, 1);
});

test('a reply that does not end in an OPT record has none', () => {
  const request = ednsQuery(1, 'abc');
  const bare = Buffer.from(sizedReply(request, 200));
  assert.equal(optOfReply(bare, 199), 0, 'cut short');
  assert.equal(optOfReply(Buffer.concat([bare, Buffer.alloc(1)]), 201), 0, 'followed by something');
  const uncounted = Buffer.from(bare);
  uncounted[11] = 0;
  assert.equal(optOfReply(uncounted, 200), 0, 'not counted');
  for (let at = 0; at < 200; at++) {
    const octets = Buffer.from(bare);
    octets[at] = 0xff;
    const opt = optOfReply(octets, 200);
    assert.ok(opt === 0 || opt === 189, `${at}`);
  }
});

test('a truncated reply is header, question and OPT record', () => {
  const request = ednsQuery(1, 'abc');
  const ede = option(EDNS_OPTION.EDE, '0012');
  const edns = { payload: 1232, version: 0, dnssecOk: true, options: [ede] };
  const reply = Buffer.from(sizedReply(request, 200, { edns, rcode: 16 }));
  const opt = optOfReply(reply, 200);
  for (const [keep, options] of [
    [true, ['15:0012']],
    [false, []],
  ] as const) {
    const own = Buffer.from(reply);
    const length = truncateReply(own, 200, opt, keep);
    assert.equal(length, query(1, 'abc').length + 11 + (keep ? 6 : 0));
    const message = decodeMessage(own.subarray(0, length))!;
    assert.deepEqual(
      [message.tc, message.id, message.rcode, message.answer.length, message.question.length],
      [true, 1, 16, 0, 1],
    );
    assert.equal(message.edns?.dnssecOk, true);
    assert.deepEqual(optionsOf(own.subarray(0, length)), options);
  }
  const plain = Buffer.from(sizedReply(query(1, 'abc'), 200));
  const length = truncateReply(plain, 200, 0, true);
  assert.equal(length, query(1, 'abc').length);
  assert.equal(decodeMessage(plain.subarray(0, length))?.tc, true);
});
