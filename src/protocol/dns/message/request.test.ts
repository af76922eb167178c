import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromHex, nameOfLabels, toHex, wireName } from '../../../../test/support/protocol/dns/fixtures.ts';
import { OPCODE, RCODE, RRTYPE, rcodeName } from '../codes.ts';
import { concatOctets } from '../octets.ts';
import {
  checkHeader,
  type DnsRequest,
  decodeRequest,
  isRequestFault,
  type RequestFault,
  SILENCE,
} from './request.ts';

/** Flags, then QDCOUNT, ANCOUNT, NSCOUNT, ARCOUNT. */
function header(flags: number, ...counts: number[]): Uint8Array {
  const fields = [0xabcd, flags, ...counts];
  return Uint8Array.from(fields.flatMap((field) => [field >>> 8, field & 0xff]));
}

const RD = 0x0100;
const QUESTION = fromHex('03 777777 07 6578616d706c65 03 636f6d 00 0010 0001');
const OPT = fromHex('00 0029 04d0 00 00 8000 0000');
const TSIG = fromHex('01 6b 00 00fa 00ff 00000000 0003 010203');
const SOA = fromHex('c00c 0006 0001 00000000 0016 00 00 00000001 00000002 00000003 00000004 00000005');
const A_RECORD = fromHex('c00c 0001 0001 00000000 0004 c0000201');

/** An OPT record with this rdata. */
function opt(rdata: string, fixed = '00 0029 04d0 00 00 0000'): Uint8Array {
  const octets = fromHex(rdata);
  return concatOctets([fromHex(fixed), Uint8Array.of(0, octets.length), octets]);
}

function decode(...parts: Uint8Array[]): DnsRequest | RequestFault | null {
  const packet = concatOctets(parts);
  return decodeRequest(packet, packet.length);
}

function request(...parts: Uint8Array[]): DnsRequest {
  const decoded = decode(...parts);
  assert.ok(decoded !== null && !isRequestFault(decoded), JSON.stringify(decoded));
  return decoded;
}

/** What becomes of a packet, in short: `TXT`-like requests as "request", faults as their rcode and what they echo. */
function outcome(...parts: Uint8Array[]): string {
  const decoded = decode(...parts);
  if (decoded === null) return 'silence';
  if (!isRequestFault(decoded)) return `request${decoded.edns === null ? '' : ' +opt'}`;
  const question = decoded.question === null ? '' : ' +question';
  return rcodeName(decoded.rcode) + question + (decoded.edns === null ? '' : ' +opt');
}

test('a query with EDNS, field by field', () => {
  assert.deepEqual(request(header(RD | 0x0010, 1, 0, 0, 1), QUESTION, OPT), {
    id: 0xabcd,
    rd: true,
    cd: true,
    qname: wireName('www.example.com'),
    qnameLower: 'www.example.com',
    qtype: RRTYPE.TXT,
    qclass: 1,
    questionEnd: 12 + QUESTION.length,
    edns: { payload: 1232, version: 0, dnssecOk: true, options: [] },
  });
});

const COOKIE_8 = '000a 0008 0102030405060708';
const LONG = nameOfLabels(63, 63, 63, 61);
const TYPE_CLASS = fromHex('0001 0001');

const OUTCOMES: readonly (readonly [string, string, ...Uint8Array[]])[] = [
  // 1. Silence.
  ['nothing', 'silence'],
  ['eleven octets', 'silence', header(RD, 1, 0, 0, 0).subarray(0, 11)],
  ['an answer', 'silence', header(0x8000 | RD, 1, 0, 0, 0), QUESTION],
  ['an answer with an unknown opcode', 'silence', header(0x8000 | (15 << 11), 0, 0, 0, 0)],
  // 2. Opcodes.
  ['NOTIFY', 'NOTIMP', header(OPCODE.NOTIFY << 11, 1, 0, 0, 0), QUESTION],
  ['UPDATE with anything behind', 'NOTIMP', header(OPCODE.UPDATE << 11, 9, 9, 9, 9)],
  ['unknown opcode, header alone', 'NOTIMP', header(15 << 11, 0, 0, 0, 0)],
  ['IQUERY', 'NOTIMP', header(OPCODE.IQUERY << 11, 0, 1, 0, 0)],
  // 3. Counts.
  ['header alone, one question promised', 'FORMERR', header(RD, 1, 0, 0, 0)],
  ['header alone', 'FORMERR', header(RD, 0, 0, 0, 0)],
  ['two questions', 'FORMERR', header(RD, 2, 0, 0, 0), QUESTION, QUESTION],
  ['65535 questions', 'FORMERR', header(RD, 65535, 0, 0, 0), QUESTION],
  ['an answer record', 'FORMERR', header(RD, 1, 1, 0, 0), QUESTION, A_RECORD],
  ['two authority records', 'FORMERR', header(RD, 1, 0, 2, 0), QUESTION, SOA, SOA],
  // 4. The question.
  ['root', 'request', header(RD, 1, 0, 0, 0), Uint8Array.of(0), TYPE_CLASS],
  ['label of 63', 'request', header(RD, 1, 0, 0, 0), nameOfLabels(63), TYPE_CLASS],
  ['label of 64', 'FORMERR', header(RD, 1, 0, 0, 0), nameOfLabels(64), TYPE_CLASS],
  ['name of 255', 'request', header(RD, 1, 0, 0, 0), LONG, TYPE_CLASS],
  ['name of 256', 'FORMERR', header(RD, 1, 0, 0, 0), nameOfLabels(63, 63, 63, 62), TYPE_CLASS],
  ['label type 01', 'FORMERR', header(RD, 1, 0, 0, 0), fromHex('4161 00'), TYPE_CLASS],
  ['label type 10', 'FORMERR', header(RD, 1, 0, 0, 0), fromHex('8161 00'), TYPE_CLASS],
  ['pointer at itself', 'FORMERR', header(RD, 1, 0, 0, 0), fromHex('c00c'), TYPE_CLASS],
  ['pointer forward', 'FORMERR', header(RD, 1, 0, 0, 0), fromHex('c012'), TYPE_CLASS, fromHex('00')],
  ['pointer into the header', 'FORMERR', header(RD, 1, 0, 0, 0), fromHex('c004'), TYPE_CLASS],
  ['label then pointer back at it', 'FORMERR', header(RD, 1, 0, 0, 0), fromHex('0161 c00c'), TYPE_CLASS],
  ['name without its end', 'FORMERR', header(RD, 1, 0, 0, 0), fromHex('03777777')],
  ['name cut inside a label', 'FORMERR', header(RD, 1, 0, 0, 0), fromHex('037777')],
  ['no class', 'FORMERR', header(RD, 1, 0, 0, 0), QUESTION.subarray(0, -2)],
  ['half a class', 'FORMERR', header(RD, 1, 0, 0, 0), QUESTION.subarray(0, -1)],
  // 5. Authority.
  ['IXFR with its SOA', 'request', header(RD, 1, 0, 1, 0), fromHex('0161 00 00fb 0001'), SOA],
  ['IXFR whose SOA is missing', 'FORMERR +question', header(RD, 1, 0, 1, 0), fromHex('0161 00 00fb 0001')],
  ['IXFR, OPT in authority', 'FORMERR +question', header(RD, 1, 0, 1, 0), fromHex('0161 00 00fb 0001'), OPT],
  ['TXT with an authority record', 'FORMERR +question', header(RD, 1, 0, 1, 0), QUESTION, SOA],
  // 6. Additional.
  ['OPT', 'request +opt', header(RD, 1, 0, 0, 1), QUESTION, OPT],
  ['record that is no OPT', 'request', header(RD, 1, 0, 0, 1), QUESTION, A_RECORD],
  ['record and OPT', 'request +opt', header(RD, 1, 0, 0, 2), QUESTION, A_RECORD, OPT],
  ['OPT promised, missing', 'FORMERR +question', header(RD, 1, 0, 0, 1), QUESTION],
  ['OPT without RDLENGTH', 'FORMERR +question', header(RD, 1, 0, 0, 1), QUESTION, OPT.subarray(0, 9)],
  ['OPT with half of RDLENGTH', 'FORMERR +question', header(RD, 1, 0, 0, 1), QUESTION, OPT.subarray(0, 10)],
  ['two OPTs', 'FORMERR +question +opt', header(RD, 1, 0, 0, 2), QUESTION, OPT, OPT],
  [
    'OPT not at the root',
    'FORMERR +question +opt',
    header(RD, 1, 0, 0, 1),
    QUESTION,
    opt('', 'c00c 0029 04d0 00000000'),
  ],
  [
    'RDLENGTH past the end',
    'FORMERR +question +opt',
    header(RD, 1, 0, 0, 1),
    QUESTION,
    fromHex('00 0029 04d0 00000000 0001'),
  ],
  ['option', 'request +opt', header(RD, 1, 0, 0, 1), QUESTION, opt('0003 0000')],
  ['option header cut', 'FORMERR +question +opt', header(RD, 1, 0, 0, 1), QUESTION, opt('0003 00')],
  ['option data cut', 'FORMERR +question +opt', header(RD, 1, 0, 0, 1), QUESTION, opt('0003 0002 61')],
  ['second option cut', 'FORMERR +question +opt', header(RD, 1, 0, 0, 1), QUESTION, opt('0003 0000 ff')],
  [
    'looping owner',
    'FORMERR +question',
    header(RD, 1, 0, 0, 1),
    QUESTION,
    fromHex('c021 0001 0001 00000000 0000'),
  ],
  ['TSIG first of two', 'FORMERR +question', header(RD, 1, 0, 0, 2), QUESTION, TSIG, OPT],
  ['two TSIGs', 'FORMERR +question', header(RD, 1, 0, 0, 2), QUESTION, TSIG, TSIG],
  // 7. Trailing octets.
  ['octet after the question', 'FORMERR +question', header(RD, 1, 0, 0, 0), QUESTION, Uint8Array.of(0)],
  ['OPT that no count tells of', 'FORMERR +question', header(RD, 1, 0, 0, 0), QUESTION, OPT],
  ['octet after OPT', 'FORMERR +question +opt', header(RD, 1, 0, 0, 1), QUESTION, OPT, Uint8Array.of(0)],
  // 8. Versions.
  [
    'version 1',
    'BADVERS +question +opt',
    header(RD, 1, 0, 0, 1),
    QUESTION,
    opt('', '00 0029 04d0 00 01 0000'),
  ],
  [
    'version 255',
    'BADVERS +question +opt',
    header(RD, 1, 0, 0, 1),
    QUESTION,
    opt('', '00 0029 04d0 00 ff 0000'),
  ],
  [
    'version 1 with options of a future form',
    'BADVERS +question +opt',
    header(RD, 1, 0, 0, 1),
    QUESTION,
    opt('ff', '00 0029 04d0 00 01 0000'),
  ],
  ['version 1 without question', 'BADVERS +opt', header(RD, 0, 0, 0, 1), opt('', '00 0029 04d0 00 01 0000')],
  // 9. No question.
  ['cookie without question', 'NOERROR +opt', header(RD, 0, 0, 0, 1), opt(COOKIE_8)],
  ['other option without question', 'FORMERR +opt', header(RD, 0, 0, 0, 1), opt('0003 0000')],
  ['OPT without question', 'FORMERR +opt', header(RD, 0, 0, 0, 1), OPT],
  ['authority without question', 'FORMERR', header(RD, 0, 0, 1, 1), SOA, opt(COOKIE_8)],
  ['bad cookie without question', 'FORMERR +opt', header(RD, 0, 0, 0, 1), opt('000a 0001 01')],
  // 10. TSIG.
  ['TSIG', 'NOTAUTH +question', header(RD, 1, 0, 0, 1), QUESTION, TSIG],
  ['OPT and TSIG', 'NOTAUTH +question +opt', header(RD, 1, 0, 0, 2), QUESTION, OPT, TSIG],
  // Bits that queries should not carry are not looked at.
  ['AA TC RA Z AD and an rcode', 'request', header(0x07ef, 1, 0, 0, 0), QUESTION],
];

test('the table of checks', () => {
  for (const [label, expected, ...parts] of OUTCOMES) assert.equal(outcome(...parts), expected, label);
});

test('a COOKIE option has 8 or 16 to 40 octets, and only the first counts', () => {
  for (let length = 0; length <= 48; length++) {
    const cookie = `000a 00${length.toString(16).padStart(2, '0')} ${'ab'.repeat(length)}`;
    const expected =
      length === 8 || (length >= 16 && length <= 40) ? 'request +opt' : 'FORMERR +question +opt';
    assert.equal(outcome(header(RD, 1, 0, 0, 1), QUESTION, opt(cookie)), expected, `${length}`);
  }
  assert.equal(outcome(header(RD, 1, 0, 0, 1), QUESTION, opt(`${COOKIE_8} 000a 0000`)), 'request +opt');
});

test('options are copied in order, unknown ones too', () => {
  const { edns } = request(header(RD, 1, 0, 0, 1), QUESTION, opt(`fde9 0002 0102 0003 0000 ${COOKIE_8}`));
  const options = edns?.options.map(({ code, data }) => `${code}:${toHex(data)}`);
  assert.deepEqual(options, ['65001:0102', '3:', '10:0102030405060708']);
});

test('a payload below 512 means 512', () => {
  for (const [sent, payload] of [
    ['0000', 512],
    ['01ff', 512],
    ['0200', 512],
    ['0201', 513],
    ['ffff', 65535],
  ] as const) {
    const { edns } = request(header(RD, 1, 0, 0, 1), QUESTION, opt('', `00 0029 ${sent} 00 00 0000`));
    assert.equal(edns?.payload, payload);
  }
});

test('only the DO bit of the EDNS flags is read', () => {
  const dnssecOk = (flags: string) =>
    request(header(RD, 1, 0, 0, 1), QUESTION, opt('', `00 0029 04d0 00 00 ${flags}`)).edns?.dnssecOk;
  assert.equal(dnssecOk('8000'), true);
  assert.equal(dnssecOk('7fff'), false);
});

test('a fault echoes id, opcode and the question octet for octet', () => {
  const cased = fromHex('03 775777 00 029a 0003');
  const decoded = decode(header(RD | 0x0010, 1, 0, 0, 1), cased, opt('', '00 0029 04d0 00 01 0000'));
  assert.ok(decoded !== null && isRequestFault(decoded));
  assert.equal(decoded.id, 0xabcd);
  assert.deepEqual([decoded.opcode, decoded.rd, decoded.cd], [0, true, true]);
  assert.equal(toHex(decoded.question!), toHex(cased));
});

test('NOTIMP keeps the opcode and echoes no flag', () => {
  const decoded = decode(header((11 << 11) | 0x07ff, 1, 0, 0, 0), QUESTION);
  assert.deepEqual(decoded, {
    rcode: RCODE.NOTIMP,
    id: 0xabcd,
    opcode: 11,
    rd: false,
    cd: false,
    question: null,
    edns: null,
  });
});

test('qnameLower is there for names of letters, digits, "-" and "_" only', () => {
  const cases: readonly (readonly [string, string | null])[] = [
    ['.', ''],
    ['WwW.ExAmPlE.CoM.', 'www.example.com'],
    ['_a-Z_09.x', '_a-z_09.x'],
    ['a\\.b.x', null],
    ['a b.x', null],
    ['\\228.x', null],
    ['*.x', null],
    ['a.\\000', null],
    ['@`[{/:.x', null],
  ];
  for (const [text, lower] of cases) {
    const { qname, qnameLower } = request(header(RD, 1, 0, 0, 0), wireName(text), TYPE_CLASS);
    assert.equal(qnameLower, lower, text);
    assert.deepEqual(qname, wireName(text), text);
  }
});

test('length bounds the packet, not the buffer; nothing is shared with it', () => {
  const packet = concatOctets([header(RD, 1, 0, 0, 1), QUESTION, opt(COOKIE_8)]);
  const buffer = Buffer.alloc(4096, 0xff);
  buffer.set(packet);
  const decoded = decodeRequest(buffer, packet.length);
  assert.deepEqual(decoded, decodeRequest(packet, packet.length));
  // A length beyond the buffer is cut to it.
  assert.deepEqual(decodeRequest(packet, 65535), decoded);
  const before = JSON.stringify(decoded);
  buffer.fill(0);
  assert.equal(JSON.stringify(decoded), before);
});

test('long names of successive packets do not overwrite each other', () => {
  const names = Array.from({ length: 100 }, (_, i) =>
    wireName(`${String(i).padStart(63, 'x')}.${'y'.repeat(63)}`),
  );
  const decoded = names.map((name) => request(header(RD, 1, 0, 0, 0), name, TYPE_CLASS));
  for (const [i, name] of names.entries()) assert.deepEqual(decoded[i]!.qname, name);
});

test('the header policy is a function of the header', () => {
  assert.equal(checkHeader(0x8000, 1, 0, 0), SILENCE);
  assert.equal(checkHeader(0x7800, 1, 0, 0), RCODE.NOTIMP);
  assert.equal(checkHeader(0x0100, 2, 0, 0), RCODE.FORMERR);
  assert.equal(checkHeader(0x0100, 1, 0, 1), RCODE.NOERROR);
  assert.equal(checkHeader(0x0100, 0, 0, 0), RCODE.NOERROR);
});
