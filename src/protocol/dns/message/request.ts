/**
 * The server's view of a query, decoded once per packet on the hot path.
 *
 * Order of checks; the first that fails decides. "echo" is what the fault carries for the answer.
 *
 * | # | check                                                              | outcome  | echo           | source |
 * |---|--------------------------------------------------------------------|----------|----------------|--------|
 * | 1 | shorter than a header, or QR set                                   | silence  |                | RFC 8906 §3.1.4: answers are not answered |
 * | 2 | opcode other than QUERY                                            | NOTIMP   | opcode         | RFC 8906 §3.1.4 |
 * | 3 | QDCOUNT above 1, ANCOUNT above 0, NSCOUNT above 1                  | FORMERR  | RD CD          | RFC 9619 §4; as NSD |
 * | 4 | question: pointer, reserved label type, over-long, cut short       | FORMERR  | RD CD          | RFC 1035 §4.1.2 |
 * | 5 | authority record that is cut short, or whose query is not IXFR     | FORMERR  | + question     | RFC 1995 §3 |
 * | 6 | additional: cut short; OPT twice, not at the root, bad option or   | FORMERR  | + OPT if seen  | RFC 6891 §6.1.1, §7 |
 * |   | cookie length; TSIG that is not the last record                    |          |                | RFC 7873 §5.2.2, RFC 8945 §5.1 |
 * | 7 | octets after the last record                                       | FORMERR  | + OPT if seen  | |
 * | 8 | EDNS version above 0 (its options are not looked at)               | BADVERS  | + OPT          | RFC 6891 §6.1.3 |
 * | 9 | no question: with a cookie, else                                   | NOERROR / FORMERR | + OPT | RFC 7873 §5.4, RFC 9619 §4 |
 * | 10| TSIG: we hold no keys                                              | NOTAUTH  | + OPT          | RFC 8945 §5.2.1 |
 *
 * Checks 1 to 3 look at the header alone (`checkHeader`). RCODE, Z, AD, TC, RA and AA are ignored.
 */

import { EDNS_OPTION, OPCODE, RCODE, RRTYPE } from '../codes.ts';
import { MAX_LABEL_OCTETS, MAX_NAME_OCTETS, skipName } from '../name.ts';
import { copyOctets, u16At } from '../octets.ts';
import { HEADER_OCTETS, MIN_UDP_PAYLOAD, QUESTION_OCTETS, RECORD_OCTETS } from '../skim.ts';
import {
  DNSSEC_OK_FLAG,
  type EdnsOption,
  findOption,
  isCookieLength,
  NO_OPTIONS,
  readOptions,
} from './edns.ts';

export interface RequestEdns {
  /** Largest UDP answer that the client accepts, at least 512 (RFC 6891 §6.2.3). */
  readonly payload: number;
  readonly version: number;
  readonly dnssecOk: boolean;
  readonly options: readonly EdnsOption[];
}

/** A well-formed query with one question. Shares no memory with the packet. */
export interface DnsRequest {
  readonly id: number;
  readonly rd: boolean;
  readonly cd: boolean;
  /** Wire form, case as sent. */
  readonly qname: Uint8Array;
  /** Lower-case text without trailing dot; '' is the root. Null if an octet is outside `[A-Za-z0-9_-]`. */
  readonly qnameLower: string | null;
  readonly qtype: number;
  readonly qclass: number;
  /** Offset in the packet after the question, which starts at 12. */
  readonly questionEnd: number;
  readonly edns: RequestEdns | null;
}

/** A packet that gets only a response code. For NOTIMP, `rd` and `cd` are false: no flag is echoed. */
export interface RequestFault {
  /** 12 bits: BADVERS needs an OPT record. NOERROR answers a cookie without a question. */
  readonly rcode: number;
  readonly id: number;
  readonly opcode: number;
  readonly rd: boolean;
  readonly cd: boolean;
  /** The question section as received, or null. */
  readonly question: Uint8Array | null;
  /** Not null if the answer carries an OPT record (RFC 6891 §7). */
  readonly edns: RequestEdns | null;
}

/** Result of `checkHeader` for a packet that gets no answer. */
export const SILENCE = -1;

const QR = 0x8000;
const RD = 0x0100;
const CD = 0x0010;
const DOT = 0x2e;

/** Lower-case letter, digit, `-` or `_`; 0 for all other octets. */
const PLAIN = new Uint8Array(256);
for (const character of 'abcdefghijklmnopqrstuvwxyz0123456789-_') {
  PLAIN[character.charCodeAt(0)] = character.charCodeAt(0);
  PLAIN[character.toUpperCase().charCodeAt(0)] = character.charCodeAt(0);
}

/** V8 allocates typed arrays up to this size inside its heap; longer ones need a second allocation. */
const INLINE_OCTETS = 64;
const SLAB_OCTETS = 8192;
let slab = new ArrayBuffer(SLAB_OCTETS);
let slabUsed = 0;

/** Used inside `lowerText` only. */
const lower = Buffer.allocUnsafeSlow(MAX_NAME_OCTETS + 1);

/** Result of reading the records. Most faults need `edns` for their answer (RFC 6891 §7). */
interface RecordScan {
  readonly rcode: number;
  readonly edns: RequestEdns | null;
  readonly hasTsig: boolean;
}

const NO_RECORDS: RecordScan = { rcode: RCODE.NOERROR, edns: null, hasTsig: false };

/** Checks 1 to 3 of the table. Returns `SILENCE`, the rcode of the fault, or `NOERROR` to continue. */
export function checkHeader(flags: number, qdcount: number, ancount: number, nscount: number): number {
  if ((flags & QR) !== 0) return SILENCE;
  if (((flags >>> 11) & 0xf) !== OPCODE.QUERY) return RCODE.NOTIMP;
  // NSCOUNT 1 is the SOA of an IXFR query: well formed, refused later.
  return qdcount > 1 || ancount > 0 || nscount > 1 ? RCODE.FORMERR : RCODE.NOERROR;
}

/** Decodes `bytes[0, length)`. Returns the request, the fault to answer, or null for silence. Never throws. */
export function decodeRequest(bytes: Uint8Array, length: number): DnsRequest | RequestFault | null {
  const end = length < bytes.length ? length : bytes.length;
  if (end < HEADER_OCTETS) return null;
  const flags = u16At(bytes, 2);
  const qdcount = u16At(bytes, 4);
  const nscount = u16At(bytes, 8);
  const decision = checkHeader(flags, qdcount, u16At(bytes, 6), nscount);
  if (decision === SILENCE) return null;
  if (decision !== RCODE.NOERROR) return fault(bytes, decision, 0, null);
  if (qdcount === 0) return decodeWithoutQuestion(bytes, end, nscount);

  const nameEnd = afterQname(bytes, end);
  const questionEnd = nameEnd + QUESTION_OCTETS;
  if (nameEnd < 0 || questionEnd > end) return fault(bytes, RCODE.FORMERR, 0, null);
  const qtype = u16At(bytes, nameEnd);
  if (nscount > 0 && qtype !== RRTYPE.IXFR) return fault(bytes, RCODE.FORMERR, questionEnd, null);
  const { rcode, edns, hasTsig } = scanRecords(bytes, questionEnd, end, nscount);
  if (rcode !== RCODE.NOERROR) return fault(bytes, rcode, questionEnd, edns);
  if (hasTsig) return fault(bytes, RCODE.NOTAUTH, questionEnd, edns);
  return {
    id: u16At(bytes, 0),
    rd: (flags & RD) !== 0,
    cd: (flags & CD) !== 0,
    qname: copyQname(bytes, nameEnd),
    qnameLower: lowerText(bytes, nameEnd),
    qtype,
    qclass: u16At(bytes, nameEnd + 2),
    questionEnd,
    edns,
  };
}

export function isRequestFault(request: DnsRequest | RequestFault): request is RequestFault {
  return 'rcode' in request;
}

function decodeWithoutQuestion(bytes: Uint8Array, end: number, nscount: number): RequestFault {
  if (nscount > 0) return fault(bytes, RCODE.FORMERR, 0, null);
  const { rcode, edns } = scanRecords(bytes, HEADER_OCTETS, end, 0);
  if (rcode !== RCODE.NOERROR) return fault(bytes, rcode, 0, edns);
  // A client may request a server cookie without a question. Its length is already checked.
  const cookie = edns === null ? null : findOption(edns.options, EDNS_OPTION.COOKIE);
  return fault(bytes, cookie === null ? RCODE.FORMERR : RCODE.NOERROR, 0, edns);
}

function fault(
  bytes: Uint8Array,
  rcode: number,
  questionEnd: number,
  edns: RequestEdns | null,
): RequestFault {
  const received = u16At(bytes, 2);
  const opcode = (received >>> 11) & 0xf;
  return {
    rcode,
    id: u16At(bytes, 0),
    opcode,
    rd: opcode === OPCODE.QUERY && (received & RD) !== 0,
    cd: opcode === OPCODE.QUERY && (received & CD) !== 0,
    question: questionEnd === 0 ? null : copyOctets(bytes, HEADER_OCTETS, questionEnd),
    edns,
  };
}

/** The offset after the QNAME, or -1. A pointer is malformed here, because no name precedes the question. */
function afterQname(bytes: Uint8Array, end: number): number {
  const limit = end < HEADER_OCTETS + MAX_NAME_OCTETS ? end : HEADER_OCTETS + MAX_NAME_OCTETS;
  let at = HEADER_OCTETS;
  while (at < limit) {
    const octets = bytes[at++]!;
    if (octets === 0) return at;
    if (octets > MAX_LABEL_OCTETS) return -1;
    at += octets;
  }
  return -1;
}

/** `qnameLower` of the QNAME, which is well formed and ends at `nameEnd`. */
function lowerText(bytes: Uint8Array, nameEnd: number): string | null {
  let at = HEADER_OCTETS;
  let written = 0;
  while (bytes[at] !== 0) {
    const labelEnd = at + 1 + bytes[at]!;
    for (at++; at < labelEnd; at++) {
      const folded = PLAIN[bytes[at]!]!;
      if (folded === 0) return null;
      lower[written++] = folded;
    }
    if (at < nameEnd - 1) lower[written++] = DOT;
  }
  return lower.toString('latin1', 0, written);
}

/** Copies the QNAME. Long names share slabs (0.1 instead of 0.4 microseconds); requests are too short-lived to keep many slabs. */
function copyQname(bytes: Uint8Array, nameEnd: number): Uint8Array {
  const octets = nameEnd - HEADER_OCTETS;
  if (octets <= INLINE_OCTETS) return copyOctets(bytes, HEADER_OCTETS, nameEnd);
  if (slabUsed + octets > SLAB_OCTETS) {
    slab = new ArrayBuffer(SLAB_OCTETS);
    slabUsed = 0;
  }
  const qname = new Uint8Array(slab, slabUsed, octets);
  slabUsed += octets;
  qname.set(bytes.subarray(HEADER_OCTETS, nameEnd));
  return qname;
}

/** Checks 5 to 8 over all records after the question; `nscount` of them are authority records. */
function scanRecords(bytes: Uint8Array, offset: number, end: number, nscount: number): RecordScan {
  const additional = u16At(bytes, 10);
  if (nscount + additional === 0 && offset === end) return NO_RECORDS;
  let edns: RequestEdns | null = null;
  let hasTsig = false;
  let at = offset;
  for (let left = nscount + additional; left > 0; left--) {
    const typeAt = bytes[at] === 0 ? at + 1 : skipName(bytes, at, end);
    const rdataAt = typeAt + RECORD_OCTETS;
    if (typeAt < 0 || rdataAt > end) return formatError(edns);
    const type = u16At(bytes, typeAt);
    const next = rdataAt + u16At(bytes, typeAt + 8);
    if (type === RRTYPE.OPT) {
      if (left > additional || edns !== null) return formatError(edns);
      const options = readOptOptions(bytes, typeAt, next, end);
      edns = readEdns(bytes, typeAt, options ?? NO_OPTIONS);
      if (options === null || bytes[at] !== 0) return formatError(edns);
    } else if (type === RRTYPE.TSIG) {
      if (left !== 1) return formatError(edns);
      hasTsig = true;
    }
    if (next > end) return formatError(edns);
    at = next;
  }
  if (at !== end) return formatError(edns);
  const rcode = edns !== null && edns.version > 0 ? RCODE.BADVERS : RCODE.NOERROR;
  return { rcode, edns, hasTsig };
}

function formatError(edns: RequestEdns | null): RecordScan {
  return { rcode: RCODE.FORMERR, edns, hasTsig: false };
}

/** The options of the OPT record whose type is at `typeAt`. None for another version; null if malformed. */
function readOptOptions(
  bytes: Uint8Array,
  typeAt: number,
  next: number,
  end: number,
): readonly EdnsOption[] | null {
  if (next > end) return null;
  if (bytes[typeAt + 5] !== 0) return NO_OPTIONS;
  const options = readOptions(bytes, typeAt + RECORD_OCTETS, next);
  const cookie = options === null ? null : findOption(options, EDNS_OPTION.COOKIE);
  return cookie === null || isCookieLength(cookie.data.length) ? options : null;
}

function readEdns(bytes: Uint8Array, typeAt: number, options: readonly EdnsOption[]): RequestEdns {
  const payload = u16At(bytes, typeAt + 2);
  return {
    payload: payload < MIN_UDP_PAYLOAD ? MIN_UDP_PAYLOAD : payload,
    version: bytes[typeAt + 5]!,
    dnssecOk: (u16At(bytes, typeAt + 6) & DNSSEC_OK_FLAG) !== 0,
    options,
  };
}
