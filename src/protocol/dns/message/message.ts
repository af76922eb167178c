/** Whole messages as values (RFC 1035 §4): for clients, tests and the JSON API, not for the hot path. */
import { CLASS, OPCODE, RRTYPE } from '../codes.ts';
import { concatOctets, u16At } from '../octets.ts';
import { WireReader } from '../reader.ts';
import { HEADER_OCTETS } from '../skim.ts';
import { MessageWriter } from '../writer.ts';
import { DNSSEC_OK_FLAG, type Edns, type EdnsOption, NO_OPTIONS, readOptions, writeOpt } from './edns.ts';

/** `owner` in wire form, `rdata` in wire form without compression, `ttl` in seconds. */
export interface Rr {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly rdata: Uint8Array;
}

export interface Question {
  readonly qname: Uint8Array;
  readonly qtype: number;
  readonly qclass: number;
}

export interface Message {
  readonly id: number;
  readonly qr: boolean;
  readonly opcode: number;
  readonly aa: boolean;
  readonly tc: boolean;
  readonly rd: boolean;
  readonly ra: boolean;
  readonly ad: boolean;
  readonly cd: boolean;
  /** All 12 bits; the upper eight are sent in the OPT record. */
  readonly rcode: number;
  readonly question: readonly Question[];
  readonly answer: readonly Rr[];
  readonly authority: readonly Rr[];
  /** Without the OPT record, which is `edns`. */
  readonly additional: readonly Rr[];
  /** `extendedRcode` is absent on decode and ignored on encode: see `rcode`. */
  readonly edns: Edns | null;
}

/** Flag bits of the header's second 16 bits (RFC 1035 §4.1.1, RFC 4035 §3.1.6 and §3.2.2). */
const FLAG = { qr: 0x8000, aa: 0x0400, tc: 0x0200, rd: 0x0100, ra: 0x0080, ad: 0x0020, cd: 0x0010 } as const;
const FLAG_NAMES = ['qr', 'aa', 'tc', 'rd', 'ra', 'ad', 'cd'] as const;

/**
 * Decodes a message, or returns null. Strict: all counted records exist, nothing follows the last one, and the
 * additional section has at most one OPT record, at the root.
 */
export function decodeMessage(bytes: Uint8Array): Message | null {
  if (bytes.length < HEADER_OCTETS) return null;
  const flags = u16At(bytes, 2);
  const reader = new WireReader(bytes, HEADER_OCTETS);
  const question = readQuestions(reader, u16At(bytes, 4));
  const answer = readRecords(reader, bytes, u16At(bytes, 6));
  const authority = readRecords(reader, bytes, u16At(bytes, 8));
  const last = readRecords(reader, bytes, u16At(bytes, 10));
  if (!reader.complete) return null;
  if (answer.some(isOpt) || authority.some(isOpt)) return null;
  const additional = last.filter((rr) => !isOpt(rr));
  if (last.length - additional.length > 1) return null;
  const opt = last.find(isOpt) ?? null;
  const edns = opt === null ? null : ednsOf(opt);
  if (opt !== null && edns === null) return null;
  return {
    id: u16At(bytes, 0),
    qr: (flags & FLAG.qr) !== 0,
    opcode: (flags >>> 11) & 0xf,
    aa: (flags & FLAG.aa) !== 0,
    tc: (flags & FLAG.tc) !== 0,
    rd: (flags & FLAG.rd) !== 0,
    ra: (flags & FLAG.ra) !== 0,
    ad: (flags & FLAG.ad) !== 0,
    cd: (flags & FLAG.cd) !== 0,
    rcode: (flags & 0xf) | (opt === null ? 0 : (opt.ttl >>> 24) << 4),
    question,
    answer,
    authority,
    additional,
    edns,
  };
}

/**
 * Encodes a message; names outside rdata are compressed. Throws `RangeError` above 65535 octets, or when the rcode
 * needs an OPT record that is missing.
 */
export function encodeMessage(message: Message): Uint8Array {
  const { edns, rcode } = message;
  if (rcode > 0xfff || (rcode > 0xf && edns === null)) {
    throw new RangeError(`rcode ${rcode} does not fit without an OPT record`);
  }
  const writer = new MessageWriter();
  writer.u16(message.id);
  let flags = (message.opcode << 11) | (rcode & 0xf);
  for (const name of FLAG_NAMES) if (message[name]) flags |= FLAG[name];
  writer.u16(flags);
  writer.u16(message.question.length);
  writer.u16(message.answer.length);
  writer.u16(message.authority.length);
  writer.u16(message.additional.length + (edns === null ? 0 : 1));
  for (const { qname, qtype, qclass } of message.question) {
    writer.name(qname, true);
    writer.u16(qtype);
    writer.u16(qclass);
  }
  for (const rr of message.answer) writeRr(writer, rr);
  for (const rr of message.authority) writeRr(writer, rr);
  // First of its section: a TSIG record has to stay the last (RFC 8945 §5.1).
  if (edns !== null) writeOpt(writer, { ...edns, extendedRcode: rcode >>> 4 });
  for (const rr of message.additional) writeRr(writer, rr);
  return writer.finish();
}

/** Appends one record. The caller counts it. */
function writeRr(writer: MessageWriter, rr: Rr): void {
  writer.name(rr.owner, true);
  writer.u16(rr.type);
  writer.u16(rr.class);
  writer.u32(rr.ttl);
  writer.u16(rr.rdata.length);
  writer.bytes(rr.rdata);
}

function isOpt(rr: Rr): boolean {
  return rr.type === RRTYPE.OPT;
}

function readQuestions(reader: WireReader, count: number): Question[] {
  const questions: Question[] = [];
  for (let i = 0; i < count && !reader.failed; i++) {
    questions.push({ qname: reader.name(), qtype: reader.u16(), qclass: reader.u16() });
  }
  return questions;
}

function readRecords(reader: WireReader, bytes: Uint8Array, count: number): Rr[] {
  const records: Rr[] = [];
  for (let i = 0; i < count && !reader.failed; i++) {
    const owner = reader.name();
    const type = reader.u16();
    const rrclass = reader.u16();
    const ttl = reader.u32();
    const length = reader.u16();
    if (reader.failed || length > reader.remaining) {
      reader.failed = true;
      break;
    }
    const rdata = expandRdata(type, bytes, reader.at, reader.at + length);
    reader.at += length;
    if (rdata === null) reader.failed = true;
    else records.push({ owner, type, class: rrclass, ttl, rdata });
  }
  return records;
}

/** Decodes the OPT record; its TTL field holds version and flags (RFC 6891 §6.1.3). Null if malformed. */
function ednsOf(opt: Rr): Edns | null {
  const options = opt.owner.length === 1 ? readOptions(opt.rdata, 0, opt.rdata.length) : null;
  if (options === null) return null;
  return {
    payload: opt.class,
    version: (opt.ttl >>> 16) & 0xff,
    dnssecOk: (opt.ttl & DNSSEC_OK_FLAG) !== 0,
    options,
  };
}

interface QueryFields {
  readonly id: number;
  readonly rd: boolean;
  /** Absent: false. */
  readonly cd?: boolean;
  /** Absent: class IN. */
  readonly qclass?: number;
  /** Fields of a version-0 OPT record. Null: no EDNS. */
  readonly edns: {
    readonly payload: number;
    readonly dnssecOk: boolean;
    readonly options?: readonly EdnsOption[];
  } | null;
}

/** Encodes a query with one question. `qname` in wire form. */
export function encodeQuery(qname: Uint8Array, qtype: number, fields: QueryFields): Uint8Array {
  const { id, rd, cd = false, qclass = CLASS.IN, edns } = fields;
  return encodeMessage({
    id,
    qr: false,
    opcode: OPCODE.QUERY,
    aa: false,
    tc: false,
    rd,
    ra: false,
    ad: false,
    cd,
    rcode: 0,
    question: [{ qname, qtype, qclass }],
    answer: [],
    authority: [],
    additional: [],
    edns: edns === null ? null : { version: 0, options: NO_OPTIONS, ...edns },
  });
}

/** Fixed octets, then character strings, names, and fixed octets or the rest. */
interface Layout {
  readonly head: number;
  readonly strings: number;
  readonly names: number;
  readonly tail: number | 'rest';
}

const ONE_NAME: Layout = { head: 0, strings: 0, names: 1, tail: 0 };
const TWO_NAMES: Layout = { head: 0, strings: 0, names: 2, tail: 0 };
const PREFERENCE_AND_NAME: Layout = { head: 2, strings: 0, names: 1, tail: 0 };

/** The types of RFC 1035 and RFC 3597 §4. Names in other types are never compressed. */
const COMPRESSIBLE: ReadonlyMap<number, Layout> = new Map([
  [RRTYPE.NS, ONE_NAME],
  [RRTYPE.MD, ONE_NAME],
  [RRTYPE.MF, ONE_NAME],
  [RRTYPE.CNAME, ONE_NAME],
  [RRTYPE.SOA, { head: 0, strings: 0, names: 2, tail: 20 }],
  [RRTYPE.MB, ONE_NAME],
  [RRTYPE.MG, ONE_NAME],
  [RRTYPE.MR, ONE_NAME],
  [RRTYPE.PTR, ONE_NAME],
  [RRTYPE.MINFO, TWO_NAMES],
  [RRTYPE.MX, PREFERENCE_AND_NAME],
  [RRTYPE.RP, TWO_NAMES],
  [RRTYPE.AFSDB, PREFERENCE_AND_NAME],
  [RRTYPE.RT, PREFERENCE_AND_NAME],
  [RRTYPE.SIG, { head: 18, strings: 0, names: 1, tail: 'rest' }],
  [RRTYPE.PX, { head: 2, strings: 0, names: 2, tail: 0 }],
  [RRTYPE.NXT, { head: 0, strings: 0, names: 1, tail: 'rest' }],
  [RRTYPE.SRV, { head: 6, strings: 0, names: 1, tail: 0 }],
  [RRTYPE.NAPTR, { head: 4, strings: 3, names: 1, tail: 0 }],
]);

/**
 * The rdata at `[start, end)` without compression. Null when a type with names does not parse. Other types and empty
 * rdata (RFC 2136 §2.4) are copied.
 */
function expandRdata(type: number, message: Uint8Array, start: number, end: number): Uint8Array | null {
  const reader = new WireReader(message, start, end);
  const layout = COMPRESSIBLE.get(type);
  if (layout === undefined || start === end) return reader.rest();
  const parts = [reader.bytes(layout.head)];
  for (let i = 0; i < layout.strings; i++) {
    const text = reader.characterString();
    parts.push(Uint8Array.of(text.length), text);
  }
  for (let i = 0; i < layout.names; i++) parts.push(reader.name());
  parts.push(layout.tail === 'rest' ? reader.rest() : reader.bytes(layout.tail));
  return reader.complete ? concatOctets(parts) : null;
}
