import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromHex, toHex } from '../../../../test/support/protocol/dns/fixtures.ts';
import { cookieOption, paddingOption } from '../../../../test/support/protocol/dns/rdata.ts';
import { EDE, EDNS_OPTION } from '../codes.ts';
import { MessageWriter } from '../writer.ts';
import {
  edeOption,
  findOption,
  isCookieLength,
  NO_OPTIONS,
  paddingLength,
  readEde,
  readOptions,
  writeOpt,
} from './edns.ts';

const CLIENT = fromHex('0102030405060708');

test('an OPT record, octet for octet', () => {
  const writer = new MessageWriter();
  const options = [edeOption(EDE.PROHIBITED, 'nö'), paddingOption(2)];
  writeOpt(writer, { payload: 1232, extendedRcode: 1, version: 0, dnssecOk: true, options });
  assert.equal(
    toHex(writer.finish()),
    toHex(fromHex('00 0029 04d0 01 00 8000 000f 000f 0005 0012 6ec3b6 000c 0002 0000')),
  );
});

test('an OPT record without options is eleven octets', () => {
  const writer = new MessageWriter();
  writeOpt(writer, { payload: 512, version: 0, dnssecOk: false, options: NO_OPTIONS });
  assert.equal(toHex(writer.finish()), '0000290200000000000000');
});

test('options are read within their bounds', () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['', ''],
    ['0003 0000', '3:'],
    ['000c 0001 00 000c 0000', '12:00 12:'],
    ['00', null],
    ['000300', null],
    ['0003 0001', null],
    ['0003 0000 00', null],
    ['0003 ffff 00', null],
  ];
  for (const [hex, expected] of cases) {
    const rdata = fromHex(hex);
    const options = readOptions(rdata, 0, rdata.length);
    const text = options?.map(({ code, data }) => `${code}:${toHex(data)}`).join(' ') ?? null;
    assert.equal(text, expected, hex);
  }
});

test('extended errors read back', () => {
  assert.deepEqual(readEde(edeOption(EDE.OTHER, '')), { infoCode: 0, text: '' });
  assert.deepEqual(readEde(edeOption(EDE.INVALID_QUERY_TYPE, 'é')), { infoCode: 30, text: 'é' });
  assert.deepEqual(readEde(edeOption(0xfedc, 'x')), { infoCode: 0xfedc, text: 'x' });
  assert.equal(readEde({ code: 15, data: Uint8Array.of(0) }), null);
});

test('the first option of a code is found', () => {
  const [first, second] = [cookieOption(CLIENT, null), cookieOption(CLIENT, new Uint8Array(16))];
  assert.equal(findOption([paddingOption(0), first, second], EDNS_OPTION.COOKIE), first);
  assert.equal(findOption([first, second], EDNS_OPTION.NSID), null);
});

test('a COOKIE option has 8 octets, or 16 to 40', () => {
  const allowed = Array.from({ length: 50 }, (_, octets) => octets).filter(isCookieLength);
  assert.deepEqual(allowed, [8, ...Array.from({ length: 25 }, (_, i) => 16 + i)]);
});

test('padding fills up to the block, its own header included', () => {
  for (const [length, octets] of [
    [463, 1],
    [464, 0],
    [465, 467],
    [100, 364],
  ] as const) {
    assert.equal(paddingLength(length, 468), octets);
    assert.equal((length + 4 + paddingOption(octets).data.length) % 468, 0);
  }
});
