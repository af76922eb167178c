import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fromHex, isWireName, toHex, wireName } from '../../../test/support/protocol/dns/fixtures.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { foldName, isSubdomain } from '../../protocol/dns/name.ts';
import { concatOctets } from '../../protocol/dns/octets.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import { nextName, nsecRdata, typeBitmap } from './nsec.ts';

const NXNAME_TYPES: readonly number[] = [RRTYPE.RRSIG, RRTYPE.NSEC, RRTYPE.NXNAME];
const BARE_TYPES: readonly number[] = [RRTYPE.RRSIG, RRTYPE.NSEC];
const existingTypes = (types: readonly number[]): readonly number[] => [...types, RRTYPE.RRSIG, RRTYPE.NSEC];

const apex = wireName('x.net');

/** The labels of a name, from the root, in lower case: compared as lists of octets, this is canonical order (RFC 4034 §6.1). */
function labelsFromRoot(name: Uint8Array): Buffer[] {
  const labels: Buffer[] = [];
  for (let at = 0; name[at]! > 0; at += 1 + name[at]!) {
    labels.unshift(Buffer.from(foldName(name.subarray(at + 1, at + 1 + name[at]!))));
  }
  return labels;
}

function canonicalOrder(a: Uint8Array, b: Uint8Array): number {
  const [left, right] = [labelsFromRoot(a), labelsFromRoot(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const order = Buffer.compare(left[i]!, right[i]!);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Labels of these octets, given as [length, octet, ...last octets], below the apex. */
function below(...labels: [number, number, ...number[]][]): Uint8Array {
  const parts = labels.map(([length, octet, ...last]) => {
    const label = new Uint8Array(length).fill(octet);
    label.set(last, length - last.length);
    return concatOctets([Uint8Array.of(length), label]);
  });
  return concatOctets([...parts, apex]);
}

const A = 0x61;
const FULL: [number, number][] = [
  [63, A],
  [63, A],
  [63, A],
];

test('canonical order, as in the example of RFC 4034 section 6.1', () => {
  const names = ['example', 'a.example', 'yljkjljk.a.example', 'Z.a.example', 'zABC.a.EXAMPLE', 'z.example'];
  const sorted = [...names.map(wireName), fromHex('0101017a076578616d706c6500'), wireName('*.z.example')];
  for (let i = 1; i < sorted.length; i++)
    assert.ok(canonicalOrder(sorted[i - 1]!, sorted[i]!) < 0, String(i));
});

test('the next name', () => {
  // The apex has 7 octets, three full labels 192: a first label of 55 makes 255.
  const cases: [string, Uint8Array, Uint8Array][] = [
    ['the apex', apex, concatOctets([Uint8Array.of(1, 0), apex])],
    ['lower case', wireName('WwW.x.net'), concatOctets([Uint8Array.of(1, 0), wireName('www.x.net')])],
    ['253 octets', below([53, A], ...FULL), concatOctets([Uint8Array.of(1, 0), below([53, A], ...FULL)])],
    ['254 octets', below([54, A], ...FULL), below([55, A, 0], ...FULL)],
    ['255 octets', below([55, A], ...FULL), below([55, A, 0x62], ...FULL)],
    ['255, last octet at its end', below([55, A, 0xff], ...FULL), below([54, A, 0x62], ...FULL)],
    ['255, before upper case', below([55, A, 0x40], ...FULL), below([55, A, 0x5b], ...FULL)],
    [
      '255, label at its end, room above',
      below([56, 0xff], [62, A], [63, A], [63, A]),
      below([63, A, 0], [63, A], [63, A]),
    ],
    ['255, label at its end, none above', below([55, 0xff], ...FULL), below([63, A, 0x62], [63, A], [63, A])],
    ['255, all labels at their end', below([55, 0xff], [63, 0xff], [63, 0xff], [63, 0xff]), apex],
  ];
  for (const [name, qname, next] of cases) {
    assert.equal(toHex(nextName(qname, apex)), toHex(next), name);
  }
});

test('the next name is a valid name of the zone that comes later, or the apex', () => {
  const octet = fc.oneof(fc.constantFrom(0xff, 0x40, 0, A), fc.nat(255));
  const label = fc.oneof(
    fc.array(octet, { minLength: 1, maxLength: 63 }),
    fc.constantFrom(...[61, 62, 63].map((length) => new Array<number>(length).fill(0xff))),
  );
  const name = fc.array(label, { maxLength: 8 }).map((labels) => {
    let built = apex;
    for (const octets of labels) {
      const room = Math.min(octets.length, 254 - built.length);
      if (room > 0)
        built = concatOctets([Uint8Array.of(room), Uint8Array.from(octets.slice(0, room)), built]);
    }
    return built;
  });
  fc.assert(
    fc.property(name, (qname) => {
      const next = nextName(qname, apex);
      assert.ok(isWireName(next) && isSubdomain(next, apex));
      assert.deepEqual(next, foldName(next));
      if (toHex(next) !== toHex(apex)) assert.ok(canonicalOrder(qname, next) < 0);
    }),
    { numRuns: 500 },
  );
});

test('bitmaps', () => {
  const cases: [readonly number[], string][] = [
    [[], ''],
    [NXNAME_TYPES, `0011000000000003${'00'.repeat(10)}80`],
    [BARE_TYPES, '0006000000000003'],
    [[RRTYPE.A], '000140'],
    [[RRTYPE.CAA, RRTYPE.A, RRTYPE.A], '000140010140'],
    [[1, 15, 46, 47, 1234], `0006400100000003041b${'00'.repeat(26)}20`],
    [[65_535], `ff20${'00'.repeat(31)}01`],
    [[255], `0020${'00'.repeat(31)}01`],
  ];
  for (const [types, hex] of cases) assert.equal(toHex(typeBitmap(types)), hex);
  for (const type of [0, -1, 65_536, 1.5]) assert.throws(() => typeBitmap([type]), RangeError);
});

test('any set of types can be read back from the bitmap', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 256, max: 65_535 }), { minLength: 1, maxLength: 30 }),
      (types) => {
        const text = rdataToText(RRTYPE.NSEC, concatOctets([apex, typeBitmap(types)]));
        const again = rdataToText(RRTYPE.NSEC, concatOctets([apex, typeBitmap([...types].reverse())]));
        assert.equal(text, again);
        assert.equal(text.split(' ').length, types.length + 1);
      },
    ),
  );
});

test('records as text', () => {
  const cases: [string, readonly number[], string][] = [
    ['No.x.net', NXNAME_TYPES, '\\000.no.x.net. RRSIG NSEC NXNAME'],
    ['ent.x.net', BARE_TYPES, '\\000.ent.x.net. RRSIG NSEC'],
    ['r.x.net', existingTypes([RRTYPE.TXT]), '\\000.r.x.net. TXT RRSIG NSEC'],
    ['x.net', existingTypes([RRTYPE.SOA, RRTYPE.NS, RRTYPE.DNSKEY]), '\\000.x.net. NS SOA RRSIG NSEC DNSKEY'],
  ];
  for (const [qname, types, text] of cases) {
    assert.equal(rdataToText(RRTYPE.NSEC, nsecRdata(wireName(qname), types, apex)), text);
  }
});
