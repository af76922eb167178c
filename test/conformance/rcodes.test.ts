import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { rcodeName } from '../../src/protocol/dns/codes.ts';
import { concatOctets, u16At } from '../../src/protocol/dns/octets.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { type Exchange, overTcp, overUdp } from './exchange.ts';
import { decoded, header, hex, ID, opt, option, question, RD } from './messages.ts';

const SOA = question('uqrp.net', 6);
const A_RECORD = hex('c00c 0001 0001 00000000 0004 c0000201');
const SOA_RECORD = hex('c00c 0006 0001 00000000 0016 00 00 00000001 00000002 00000003 00000004 00000005');
const TSIG = hex('01 6b 00 00fa 00ff 00000000 0003 010203');
const TYPE_CLASS = hex('0006 0001');
const OPT = opt();
const VERSION_1 = { ttl: '00010000' };

/** A name of this many octets with the root label, in labels of at most 63. */
function nameOf(octets: number): Uint8Array {
  const labels: Uint8Array[] = [];
  for (let left = octets - 1; left > 0; ) {
    const length = Math.min(63, left - 1);
    labels.push(Uint8Array.of(length), new Uint8Array(length).fill(0x61));
    left -= length + 1;
  }
  return concatOctets([...labels, Uint8Array.of(0)]);
}

/** Description; rcode, with `+question` and `+opt` where the reply has them; message. */
type Row = readonly [label: string, expected: string, ...parts: readonly Uint8Array[]];

const ROWS: readonly Row[] = [
  ['a query', 'NOERROR +question', header(RD, 1), SOA],
  ['a query with EDNS', 'NOERROR +question +opt', header(RD, 1, 0, 0, 1), SOA, OPT],
  [
    'a query with all that a query has no use for: AA TC RA Z AD CD and an rcode',
    'NOERROR +question',
    header(0x07ff, 1),
    SOA,
  ],

  // RFC 8906 section 3.1.4: a message that is not a query gets no reply.
  ['nothing', 'silence'],
  ['one octet', 'silence', Uint8Array.of(0x1a)],
  ['eleven octets', 'silence', header(RD, 1).subarray(0, 11)],
  ['an answer', 'silence', header(0x8000, 1), SOA],
  ['an answer with an opcode of its own', 'silence', header(0x8000 | (4 << 11), 1), SOA],

  // Opcodes (RFC 1035 4.1.1, RFC 1996, RFC 2136, RFC 8490): known and unknown, with and without a body.
  ['IQUERY', 'NOTIMP', header(1 << 11, 0, 1), A_RECORD],
  ['STATUS', 'NOTIMP', header(2 << 11)],
  ['opcode 3', 'NOTIMP', header(3 << 11, 1), SOA],
  ['NOTIFY', 'NOTIMP', header(4 << 11, 1), SOA],
  ['UPDATE', 'NOTIMP', header(5 << 11, 1), SOA],
  ['DSO', 'NOTIMP', header(6 << 11)],
  ['opcode 15 with all flags', 'NOTIMP', header((15 << 11) | 0x07ff, 1), SOA],

  // Counts (RFC 9619).
  ['no question', 'FORMERR', header(RD)],
  ['no question, an OPT record', 'FORMERR +opt', header(RD, 0, 0, 0, 1), OPT],
  ['two questions', 'FORMERR', header(RD, 2), SOA, SOA],
  ['a question promised', 'FORMERR', header(RD, 1)],
  ['65535 of each', 'FORMERR', header(RD, 65535, 65535, 65535, 65535), SOA],
  ['an answer record', 'FORMERR', header(RD, 1, 1), SOA, A_RECORD],
  ['an authority record', 'FORMERR +question', header(RD, 1, 0, 1), SOA, SOA_RECORD],
  ['an additional record that is no OPT', 'NOERROR +question', header(RD, 1, 0, 0, 1), SOA, A_RECORD],
  ['an additional record promised', 'FORMERR +question', header(RD, 1, 0, 0, 1), SOA],

  // The name (RFC 1035 3.1, 4.1.4).
  ['a pointer to itself', 'FORMERR', header(RD, 1), hex('c00c'), TYPE_CLASS],
  ['a label and a pointer back to it', 'FORMERR', header(RD, 1), hex('0161 c00c'), TYPE_CLASS],
  ['two pointers to each other', 'FORMERR', header(RD, 1), hex('c00e c00c'), TYPE_CLASS],
  ['a pointer forward', 'FORMERR', header(RD, 1), hex('c012'), TYPE_CLASS, hex('00')],
  ['a pointer into the header', 'FORMERR', header(RD, 1), hex('c000'), TYPE_CLASS],
  ['a pointer past the end', 'FORMERR', header(RD, 1), hex('ffff'), TYPE_CLASS],
  ['half a pointer', 'FORMERR', header(RD, 1), hex('c0')],
  ['label type 01 (RFC 6891 section 5)', 'FORMERR', header(RD, 1), hex('41 61 00'), TYPE_CLASS],
  ['label type 10', 'FORMERR', header(RD, 1), hex('81 61 00'), TYPE_CLASS],
  ['a name of 255 octets', 'REFUSED +question', header(RD, 1), nameOf(255), TYPE_CLASS],
  ['a name of 256 octets', 'FORMERR', header(RD, 1), nameOf(256), TYPE_CLASS],
  [
    'a label of 64 octets',
    'FORMERR',
    header(RD, 1),
    concatOctets([Uint8Array.of(64), new Uint8Array(64), hex('00')]),
    TYPE_CLASS,
  ],
  ['a name without its end', 'FORMERR', header(RD, 1), hex('03 777777')],
  ['a question without its class', 'FORMERR', header(RD, 1), SOA.subarray(0, -2)],
  ['an octet behind the question', 'FORMERR +question', header(RD, 1), SOA, hex('00')],
  ['an OPT record that no count tells of', 'FORMERR +question', header(RD, 1), SOA, OPT],
  ['an octet behind the OPT record', 'FORMERR +question +opt', header(RD, 1, 0, 0, 1), SOA, OPT, hex('00')],

  // Zones, classes, types.
  ['another zone', 'REFUSED +question', header(RD, 1), question('example.com', 1)],
  ['the root', 'REFUSED +question', header(RD, 1), question('.', 2)],
  ['our parent', 'REFUSED +question', header(RD, 1), question('net', 2)],
  ['class HS', 'REFUSED +question', header(RD, 1), question('uqrp.net', 6, 4)],
  ['class ANY', 'REFUSED +question', header(RD, 1), question('uqrp.net', 6, 255)],
  ['class 0', 'REFUSED +question', header(RD, 1), question('uqrp.net', 6, 0)],
  ['version.bind in class CHAOS', 'NOERROR +question', header(RD, 1), question('version.bind', 16, 3)],
  ['an unknown type (RFC 3597)', 'NOERROR +question', header(RD, 1), question('uqrp.net', 65280)],
  ['type 0', 'FORMERR +question', header(RD, 1), question('uqrp.net', 0)],
  ['OPT as a question', 'FORMERR +question', header(RD, 1), question('uqrp.net', 41)],
  ['NXNAME as a question (RFC 9824)', 'FORMERR +question', header(RD, 1), question('uqrp.net', 128)],
  ['TKEY as a question', 'FORMERR +question', header(RD, 1), question('uqrp.net', 249)],
  ['TSIG as a question', 'FORMERR +question', header(RD, 1), question('uqrp.net', 250)],
  ['MAILB', 'NOERROR +question', header(RD, 1), question('uqrp.net', 253)],
  ['AXFR (RFC 5936)', 'REFUSED +question', header(RD, 1), question('uqrp.net', 252)],
  ['AXFR of a zone that is not ours', 'REFUSED +question', header(RD, 1), question('example.com', 252)],
  ['IXFR (RFC 1995)', 'REFUSED +question', header(RD, 1, 0, 1), question('uqrp.net', 251), SOA_RECORD],
  ['IXFR without its SOA', 'REFUSED +question', header(RD, 1), question('uqrp.net', 251)],

  // EDNS (RFC 6891 section 6.1.1, 6.1.3, 7).
  ['two OPT records', 'FORMERR +question +opt', header(RD, 1, 0, 0, 2), SOA, OPT, OPT],
  [
    'an OPT record that is not of the root',
    'FORMERR +question +opt',
    header(RD, 1, 0, 0, 1),
    SOA,
    opt('', { owner: '016100' }),
  ],
  [
    'an OPT record of the zone, by a pointer',
    'FORMERR +question +opt',
    header(RD, 1, 0, 0, 1),
    SOA,
    opt('', { owner: 'c00c' }),
  ],
  ['an OPT record among the answers', 'FORMERR', header(RD, 1, 1), SOA, OPT],
  ['an OPT record in the authority section', 'FORMERR +question', header(RD, 1, 0, 1), SOA, OPT],
  [
    'an OPT record cut before its length',
    'FORMERR +question',
    header(RD, 1, 0, 0, 1),
    SOA,
    OPT.subarray(0, 9),
  ],
  [
    'an OPT record longer than the message',
    'FORMERR +question +opt',
    header(RD, 1, 0, 0, 1),
    SOA,
    hex('00 0029 04d0 00000000 0004 00'),
  ],
  ['half an option', 'FORMERR +question +opt', header(RD, 1, 0, 0, 1), SOA, opt('000300')],
  [
    'an option longer than the record',
    'FORMERR +question +opt',
    header(RD, 1, 0, 0, 1),
    SOA,
    opt('0003 0005 00'),
  ],
  ['an unknown option', 'NOERROR +question +opt', header(RD, 1, 0, 0, 1), SOA, opt(option(65001, 'ff'))],
  ['version 1', 'BADVERS +question +opt', header(RD, 1, 0, 0, 1), SOA, opt('', VERSION_1)],
  ['version 255', 'BADVERS +question +opt', header(RD, 1, 0, 0, 1), SOA, opt('', { ttl: '00ff0000' })],
  [
    'version 1 with options of a form to come',
    'BADVERS +question +opt',
    header(RD, 1, 0, 0, 1),
    SOA,
    opt('ff', VERSION_1),
  ],
  ['all flags of EDNS', 'NOERROR +question +opt', header(RD, 1, 0, 0, 1), SOA, opt('', { ttl: '0000ffff' })],
  [
    'upper bits of an rcode',
    'NOERROR +question +opt',
    header(RD, 1, 0, 0, 1),
    SOA,
    opt('', { ttl: 'ff000000' }),
  ],
  ['a payload of 0', 'NOERROR +question +opt', header(RD, 1, 0, 0, 1), SOA, opt('', { payload: 0 })],

  // Cookies (RFC 7873 section 5.2.2, 5.4).
  ...[0, 1, 7, 9, 15, 41].map(
    (octets): Row => [
      `a cookie of ${octets} octets`,
      'FORMERR +question +opt',
      header(RD, 1, 0, 0, 1),
      SOA,
      opt(option(10, 'ab'.repeat(octets))),
    ],
  ),
  ...[8, 16, 24, 40].map(
    (octets): Row => [
      `a cookie of ${octets} octets`,
      'NOERROR +question +opt',
      header(RD, 1, 0, 0, 1),
      SOA,
      opt(option(10, 'ab'.repeat(octets))),
    ],
  ),
  ['a cookie without a question', 'NOERROR +opt', header(RD, 0, 0, 0, 1), opt(option(10, 'ab'.repeat(8)))],

  // TSIG (RFC 8945): we have no keys.
  ['a TSIG record', 'NOTAUTH +question', header(RD, 1, 0, 0, 1), SOA, TSIG],
  ['OPT and TSIG', 'NOTAUTH +question +opt', header(RD, 1, 0, 0, 2), SOA, OPT, TSIG],
  ['a TSIG record that is not the last', 'FORMERR +question', header(RD, 1, 0, 0, 2), SOA, TSIG, A_RECORD],
];

describe('every message has its response code', () => {
  let server: Uqrp;
  before(async () => {
    server = await startUqrp();
  });
  after(() => server.remove());

  const ways: readonly (readonly [string, () => Exchange])[] = [
    ['UDP', () => overUdp(server.ports.dns)],
    ['TCP', () => overTcp(server.ports.dns)],
  ];
  for (const [transport, exchangeOf] of ways) {
    it(`over ${transport}`, async () => {
      const exchange = exchangeOf();
      for (const [label, expected, ...parts] of ROWS) {
        const packet = concatOctets(parts);
        // An empty message closes a TCP connection: src/dns/stream/tcp.test.ts.
        if (transport === 'TCP' && packet.length === 0) continue;
        assert.equal(describeReply(packet, await exchange(packet)), expected, label);
      }
    });
  }
});

/** The reply in the notation of the table. Also checks the header bits of every reply (RFC 1035 section 4.1.1). */
function describeReply(packet: Uint8Array, reply: Uint8Array | null): string {
  if (reply === null) return 'silence';
  const { id, qr, ra, ad, tc, rd, cd, opcode, rcode, question: echoed, edns } = decoded(reply);
  const flags = u16At(packet, 2);
  assert.equal(id, ID);
  assert.deepEqual({ qr, ra, ad, tc }, { qr: true, ra: false, ad: false, tc: false });
  assert.equal(opcode, (flags >>> 11) & 0xf);
  // An unknown opcode gives its flags no meaning.
  const isQuery = opcode === 0;
  assert.deepEqual({ rd, cd }, { rd: isQuery && (flags & RD) !== 0, cd: isQuery && (flags & 0x10) !== 0 });
  // Z, the reserved bit.
  assert.equal(u16At(reply, 2) & 0x40, 0);
  if (echoed.length > 0) {
    const length = echoed[0]!.qname.length + 4;
    assert.deepEqual(
      Buffer.from(reply.subarray(12, 12 + length)),
      Buffer.from(packet.subarray(12, 12 + length)),
    );
  }
  if (edns !== null) assert.deepEqual([edns.version, edns.payload], [0, 1232]);
  return rcodeName(rcode) + (echoed.length > 0 ? ' +question' : '') + (edns === null ? '' : ' +opt');
}
