import assert from 'node:assert/strict';
import { test } from 'node:test';
import dnsPacket from 'dns-packet';
import fc from 'fast-check';
import { anyName, fromHex, toHex, wireName } from '../../../../test/support/protocol/dns/fixtures.ts';
import { corpus } from '../../../../test/support/protocol/dns/fuzz.ts';
import { mxRdata, srvRdata, txtRdata } from '../../../../test/support/protocol/dns/rdata.ts';
import { CLASS, RRTYPE, rcodeName, rrtypeName } from '../codes.ts';
import { nameToText } from '../name.ts';
import { concatOctets } from '../octets.ts';
import { aaaaRdata, aRdata, nsRdata, soaRdata } from '../rdata/rdata.ts';
import { decodeMessage, encodeMessage, type Message, type Rr } from './message.ts';

const QUERY: Message = {
  id: 1,
  qr: false,
  opcode: 0,
  aa: false,
  tc: false,
  rd: true,
  ra: false,
  ad: false,
  cd: false,
  rcode: 0,
  question: [{ qname: wireName('a.example'), qtype: RRTYPE.A, qclass: CLASS.IN }],
  answer: [],
  authority: [],
  additional: [],
  edns: null,
};
const u16 = fc.nat(0xffff);
const u32 = fc.nat(0xffffffff);

function anyRdata(): fc.Arbitrary<{ type: number; rdata: Uint8Array }> {
  const of = (type: number, rdata: fc.Arbitrary<Uint8Array>) =>
    rdata.map((octets) => ({ type, rdata: octets }));
  const times = fc.record({ serial: u32, refresh: u32, retry: u32, expire: u32, minimum: u32 });
  return fc.oneof(
    of(RRTYPE.NS, anyName()),
    of(RRTYPE.CNAME, anyName()),
    of(RRTYPE.PTR, anyName()),
    of(
      RRTYPE.MX,
      fc.tuple(u16, anyName()).map(([preference, exchange]) => mxRdata(preference, exchange)),
    ),
    of(
      RRTYPE.SRV,
      fc.tuple(u16, anyName()).map(([port, target]) => srvRdata(1, 2, port, target)),
    ),
    of(
      RRTYPE.SOA,
      fc
        .tuple(anyName(), anyName(), times)
        .map(([mname, rname, rest]) => soaRdata({ mname, rname, ...rest })),
    ),
    of(
      RRTYPE.NAPTR,
      anyName().map((name) => concatOctets([fromHex('0001 0002 0161 00 0162'), name])),
    ),
    of(
      RRTYPE.NXT,
      anyName().map((name) => concatOctets([name, fromHex('0102')])),
    ),
    of(RRTYPE.TXT, fc.uint8Array({ maxLength: 600 }).map(txtRdata)),
    of(666, fc.uint8Array({ maxLength: 40 })),
  );
}

function anyMessage(): fc.Arbitrary<Message> {
  const record = fc
    .tuple(anyName(), anyRdata(), u32, u16)
    .map(([owner, { type, rdata }, ttl, rrclass]): Rr => ({ owner, type, class: rrclass, ttl, rdata }));
  const section = fc.array(record, { maxLength: 4 });
  const options = fc.array(
    fc.record({ code: u16, data: fc.uint8Array({ maxLength: 20 }) }, { noNullPrototype: true }),
    { maxLength: 3 },
  );
  const edns = fc.record(
    { payload: u16, version: fc.nat(255), dnssecOk: fc.boolean(), options },
    { noNullPrototype: true },
  );
  const bit = fc.boolean();
  return fc
    .record(
      {
        id: u16,
        qr: bit,
        opcode: fc.nat(15),
        aa: bit,
        tc: bit,
        rd: bit,
        ra: bit,
        ad: bit,
        cd: bit,
        rcode: fc.nat(0xfff),
        question: fc.array(
          fc.record({ qname: anyName(), qtype: u16, qclass: u16 }, { noNullPrototype: true }),
          {
            maxLength: 3,
          },
        ),
        answer: section,
        authority: section,
        additional: section,
        edns: fc.option(edns),
      },
      { noNullPrototype: true },
    )
    .map((message) => (message.edns === null ? { ...message, rcode: message.rcode & 0xf } : message));
}

test('property: decode(encode(message)) is the message', () => {
  fc.assert(
    fc.property(anyMessage(), (message) => assert.deepEqual(decodeMessage(encodeMessage(message)), message)),
  );
});

test('property: a prefix of a message is no message, nor is one with octets after it', () => {
  fc.assert(
    fc.property(anyMessage(), fc.nat(), (message, cut) => {
      const bytes = encodeMessage(message);
      assert.equal(decodeMessage(bytes.subarray(0, cut % bytes.length)), null);
      assert.equal(decodeMessage(concatOctets([bytes, Uint8Array.of(0)])), null);
    }),
  );
});

test('names compressed inside rdata are made whole (RFC 3597 section 4)', () => {
  const head = '0001 8400 0001 0001 0000 0000 016107 6578616d706c65 00 0001 0001 c00c';
  // c00e is "example."
  const cases: readonly (readonly [number, string, string])[] = [
    [RRTYPE.NS, '0162 c00e', '0162 076578616d706c6500'],
    [RRTYPE.MX, '000a c00e', '000a 076578616d706c6500'],
    [
      RRTYPE.SOA,
      'c00c c00e 0000000100000002000000030000000400000005',
      '0161076578616d706c6500 076578616d706c6500 0000000100000002000000030000000400000005',
    ],
    [RRTYPE.SRV, '000100020035 c00e', '000100020035 076578616d706c6500'],
    [RRTYPE.NAPTR, '00010002 0161 00 00 c00e', '00010002 0161 00 00 076578616d706c6500'],
    // Of an unknown type, and of newer ones, rdata is opaque.
    [666, 'c00e', 'c00e'],
    [RRTYPE.RRSIG, 'c00e', 'c00e'],
    // RFC 2136 section 2.4.
    [RRTYPE.NS, '', ''],
  ];
  for (const [type, received, expected] of cases) {
    const rdata = fromHex(received);
    const fixed = fromHex(
      `${type.toString(16).padStart(4, '0')} 0001 0000003c 00${rdata.length.toString(16).padStart(2, '0')}`,
    );
    const message = decodeMessage(concatOctets([fromHex(head), fixed, rdata]));
    assert.equal(toHex(message!.answer[0]!.rdata), toHex(fromHex(expected)), rrtypeName(type));
  }
});

test('malformed messages are null', () => {
  const question = '0161 00 0001 0001';
  const cases: readonly (readonly [string, string])[] = [
    ['short header', '0001 0100 0001 0000 0000 00'],
    ['question missing', '0001 0100 0001 0000 0000 0000'],
    ['answer missing', `0001 8000 0001 0001 0000 0000 ${question}`],
    [
      'NS with octets after its name',
      `0001 8000 0001 0001 0000 0000 ${question} c00c 0002 0001 00000000 0003 c00c 00`,
    ],
    [
      'NS whose name ends beyond its rdata',
      `0001 8000 0001 0001 0000 0000 ${question} c00c 0002 0001 00000000 0001 c00c`,
    ],
    [
      'rdata pointer at itself',
      `0001 8000 0001 0001 0000 0000 ${question} c00c 0002 0001 00000000 0002 c01f`,
    ],
    ['rdata past the end', `0001 8000 0001 0001 0000 0000 ${question} c00c 0010 0001 00000000 0002 00`],
    ['OPT as answer', '0001 8000 0000 0001 0000 0000 00 0029 0200 00000000 0000'],
    ['OPT as authority', '0001 8000 0000 0000 0001 0000 00 0029 0200 00000000 0000'],
    ['two OPTs', '0001 8000 0000 0000 0000 0002 00 0029 0200 00000000 0000 00 0029 0200 00000000 0000'],
    ['OPT with an owner', '0001 8000 0000 0000 0000 0001 016100 0029 0200 00000000 0000'],
    ['OPT with half an option', '0001 8000 0000 0000 0000 0001 00 0029 0200 00000000 0001 00'],
  ];
  for (const [label, hex] of cases) assert.equal(decodeMessage(fromHex(hex)), null, label);
});

test('an rcode above 15 lives in the OPT record', () => {
  const edns = { payload: 1232, version: 0, dnssecOk: false, options: [] };
  const bytes = encodeMessage({ ...QUERY, rcode: 16, edns });
  assert.equal(bytes[3]! & 0xf, 0);
  assert.equal(decodeMessage(bytes)?.rcode, 16);
  assert.throws(() => encodeMessage({ ...QUERY, rcode: 16 }), RangeError);
  assert.throws(() => encodeMessage({ ...QUERY, rcode: 4096, edns }), RangeError);
});

test('every seed of the fuzzer is a well-formed message', () => {
  for (const packet of corpus()) assert.notEqual(decodeMessage(packet), null, toHex(packet));
});

/** A name as `dns-packet` writes it: no final dot. It does not escape, so only plain names are compared. */
function plain(name: Uint8Array): string {
  return nameToText(name).replace(/(?<=.)\.$/, '');
}

const plainName = fc
  .array(fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/), { maxLength: 5 })
  .map((labels) => wireName(labels.join('.')));

function commonRecord(): fc.Arbitrary<{ rr: Rr; data: unknown }> {
  const of = (type: number, rdata: Uint8Array, data: unknown) => ({ type, rdata, data });
  const rdata = fc.oneof(
    fc.ipV4().map((address) => of(RRTYPE.A, aRdata(address)!, address)),
    fc
      .constantFrom('2001:db8::1', 'ff02::fb')
      .map((address) => of(RRTYPE.AAAA, aaaaRdata(address)!, address)),
    plainName.map((name) => of(RRTYPE.NS, nsRdata(name), plain(name))),
    plainName.map((name) => of(RRTYPE.CNAME, nsRdata(name), plain(name))),
    fc
      .tuple(u16, plainName)
      .map(([preference, name]) =>
        of(RRTYPE.MX, mxRdata(preference, name), { preference, exchange: plain(name) }),
      ),
    fc
      .tuple(u16, plainName)
      .map(([port, name]) =>
        of(RRTYPE.SRV, srvRdata(1, 2, port, name), { priority: 1, weight: 2, port, target: plain(name) }),
      ),
    fc
      .uint8Array({ minLength: 1, maxLength: 255 })
      .map((value) => of(RRTYPE.TXT, txtRdata(value), [Buffer.from(value)])),
  );
  return fc
    .tuple(plainName, fc.nat(0x7fffffff), rdata)
    .map(([owner, ttl, { type, rdata: octets, data }]) => ({
      rr: { owner, type, class: CLASS.IN, ttl, rdata: octets },
      data,
    }));
}

test('property: dns-packet reads what we write', () => {
  fc.assert(
    fc.property(plainName, fc.array(commonRecord(), { maxLength: 8 }), fc.nat(5), (qname, records, rcode) => {
      const question = [{ qname, qtype: RRTYPE.TXT, qclass: CLASS.IN }];
      const answer = records.map((record) => record.rr);
      const bytes = encodeMessage({ ...QUERY, id: 77, qr: true, aa: true, rcode, question, answer });
      const decoded = dnsPacket.decode(Buffer.from(bytes));
      assert.deepEqual(
        [decoded.id, decoded.type, decoded.flag_aa, decoded.flag_rd],
        [77, 'response', true, true],
      );
      assert.equal(decoded.rcode, rcodeName(rcode));
      assert.deepEqual(decoded.questions, [{ name: plain(qname), type: 'TXT', class: 'IN' }]);
      assert.deepEqual(
        decoded.answers.map(({ name, type, ttl, class: rrclass, data }) => ({
          name,
          type,
          ttl,
          rrclass,
          data,
        })),
        records.map(({ rr, data }) => ({
          name: plain(rr.owner),
          type: rrtypeName(rr.type),
          ttl: rr.ttl,
          rrclass: 'IN',
          data,
        })),
      );
    }),
  );
});

test('we read what dns-packet writes', () => {
  const soa = {
    mname: 'ns.example',
    rname: 'h.example',
    serial: 1,
    refresh: 2,
    retry: 3,
    expire: 4,
    minimum: 5,
  };
  const bytes = dnsPacket.encode({
    type: 'response',
    id: 9,
    flags: 0x0400,
    questions: [{ type: 'SOA', name: 'example' }],
    answers: [{ type: 'SOA', name: 'example', ttl: 60, data: soa }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: 4096,
        flags: 0x8000,
        options: [{ code: 'PADDING', length: 3 }],
      },
    ],
  });
  const message = decodeMessage(bytes);
  assert.equal(message?.aa, true);
  const { mname, rname, ...times } = soa;
  assert.deepEqual(
    message.answer[0]?.rdata,
    soaRdata({ mname: wireName(mname), rname: wireName(rname), ...times }),
  );
  assert.deepEqual(message.edns, {
    payload: 4096,
    version: 0,
    dnssecOk: true,
    options: [{ code: 12, data: new Uint8Array(3) }],
  });
});
