import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fixtureCases, fromHex } from '../../../../test/support/protocol/dns/fixtures.ts';
import { formatAddress } from '../../../base/network/address.ts';
import { parseRrtype, RRTYPE } from '../codes.ts';
import { rdataToText } from './present.ts';

/** The hex of `\# n hex` may be spaced in the fixtures, to be read by people. */
function unspaced(text: string): string {
  return text.replace(
    /^(\\# \d+ )([0-9A-F ]+)$/,
    (_, head: string, hex: string) => head + hex.replaceAll(' ', ''),
  );
}

test('presentation (rdata.txt)', () => {
  for (const [type, hex, text] of fixtureCases('rdata.txt')) {
    assert.equal(rdataToText(parseRrtype(type)!, fromHex(hex)), unspaced(text), `${type} ${hex}`);
  }
});

test('property: printable ASCII always, nothing throws, on any rdata of any type', () => {
  const types = [...Object.values(RRTYPE), 666];
  fc.assert(
    fc.property(fc.constantFrom(...types), fc.uint8Array({ maxLength: 80 }), (type, rdata) => {
      assert.match(rdataToText(type, rdata), /^[\x20-\x7e]+$/);
    }),
    { numRuns: 3000 },
  );
});

test('property: addresses have the text that they have everywhere else', () => {
  const group = fc.oneof(fc.constant([0, 0]), fc.tuple(fc.nat(255), fc.nat(255)));
  const any = fc.array(group, { minLength: 8, maxLength: 8 }).map((groups) => Uint8Array.from(groups.flat()));
  const mapped = any.map((octets) =>
    Uint8Array.from(octets, (octet, at) => (at < 10 ? 0 : at < 12 ? 255 : octet)),
  );
  fc.assert(
    fc.property(fc.oneof(any, mapped), (octets) => {
      assert.equal(rdataToText(RRTYPE.AAAA, octets), formatAddress(octets));
    }),
    { numRuns: 2000 },
  );
});
