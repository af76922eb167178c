import { rcodeName, rrtypeName } from '../../../../src/protocol/dns/codes.ts';
import { Cursor, type DnsName, MessageError, nameFromText, type OctetSpan, type Section } from './cursor.ts';
import { type Edns, type ResourceRecord, readRecord } from './record.ts';

/** One bit each. `z` is the reserved bit, which must be 0. */
export interface HeaderFlags {
  readonly qr: boolean;
  readonly aa: boolean;
  readonly tc: boolean;
  readonly rd: boolean;
  readonly ra: boolean;
  readonly z: boolean;
  readonly ad: boolean;
  readonly cd: boolean;
}

export interface MessageQuestion {
  readonly name: DnsName;
  readonly type: number;
  readonly class: number;
}

/** A DNS message, with the meaning of each octet. */
export interface DnsMessage {
  readonly octets: Uint8Array;
  readonly id: number;
  readonly opcode: number;
  readonly flags: HeaderFlags;
  /** With the upper bits of the OPT record. */
  readonly rcode: number;
  readonly questions: readonly MessageQuestion[];
  /** Records of all sections in their order, without OPT. */
  readonly records: readonly ResourceRecord[];
  readonly edns: Edns | null;
  /** One for each field, from the first octet to the last. */
  readonly spans: readonly OctetSpan[];
}

const LONGEST = 65_535;
const BITS: readonly (readonly [keyof HeaderFlags, number])[] = [
  ['qr', 0x8000],
  ['aa', 0x0400],
  ['tc', 0x0200],
  ['rd', 0x0100],
  ['ra', 0x0080],
  ['z', 0x0040],
  ['ad', 0x0020],
  ['cd', 0x0010],
];

/**
 * Reads a whole message (RFC 1035, section 4). Work and memory are at most in proportion to the number of octets: a name
 * costs at most 255 octets and 127 pointers, wherever they lead.
 * @throws MessageError for octets that are no message, or that have more after it
 */
export function decodeMessage(octets: Uint8Array): DnsMessage {
  if (octets.length > LONGEST) throw new MessageError('too long', LONGEST);
  const cursor = new Cursor(octets);
  const id = cursor.number(2, 'id');
  const bits = cursor.number(2, 'flags', flagsText);
  const [questionCount = 0, ...counts] = ['qdcount', 'ancount', 'nscount', 'arcount'].map((field) =>
    cursor.number(2, field),
  );
  cursor.section = 'question';
  const questions = Array.from({ length: Math.min(questionCount, LONGEST) }, (_, at) => {
    cursor.record = at;
    return readQuestion(cursor);
  });
  const records: ResourceRecord[] = [];
  let opt: { readonly edns: Edns; readonly extendedRcode: number } | null = null;
  for (const [index, section] of (['answer', 'authority', 'additional'] as const).entries()) {
    cursor.section = section;
    for (let at = 0; at < (counts[index] ?? 0); at += 1) {
      cursor.record = at;
      const from = cursor.at;
      const read = readRecord(cursor);
      if ('owner' in read) records.push(read);
      else if (opt === null) opt = read;
      else throw new MessageError('a second OPT record', from);
    }
  }
  if (cursor.at !== octets.length) throw new MessageError('octets after the end', cursor.at);
  return {
    octets,
    id,
    opcode: opcodeOf(bits),
    flags: flagsOf(bits),
    rcode: ((opt?.extendedRcode ?? 0) << 4) | (bits & 0x000f),
    questions,
    records,
    edns: opt?.edns ?? null,
    spans: cursor.spans,
  };
}

/** The records of one section. */
export function recordsIn(message: DnsMessage, section: Section): readonly ResourceRecord[] {
  return message.records.filter((record) => record.section === section);
}

function readQuestion(cursor: Cursor): MessageQuestion {
  return {
    name: cursor.name('qname'),
    type: cursor.number(2, 'qtype', rrtypeName),
    class: cursor.number(2, 'qclass', (value) => (value === 1 ? 'IN' : `CLASS${value}`)),
  };
}

function flagsOf(bits: number): HeaderFlags {
  return Object.fromEntries(BITS.map(([name, bit]) => [name, (bits & bit) !== 0])) as unknown as HeaderFlags;
}

function flagsText(bits: number): string {
  const set = BITS.filter(([, bit]) => (bits & bit) !== 0).map(([name]) => name.toUpperCase());
  return [...set, rcodeName(bits & 0x000f)].join(' ');
}

function opcodeOf(bits: number): number {
  return (bits >> 11) & 0x0f;
}

export interface QueryOptions {
  /** RR type. Default TXT. */
  readonly type?: number | undefined;
  /** DO: the answer has its signatures (RFC 3225). */
  readonly dnssecOk?: boolean | undefined;
  /** CD: a resolver passes on what it could not validate. */
  readonly checkingDisabled?: boolean | undefined;
  /** Default 0 (RFC 8484, section 4.1). */
  readonly id?: number | undefined;
}

const TXT = 16;
const IN = 1;
const OPT = 41;
const UDP_SIZE = 1232;
const EDNS_PADDING = 12;
/** RFC 8467: queries are padded to multiples of 128 octets, so that their length says less about the name. */
const PADDED = 128;
const HEADER = 12;
const OPT_HEAD = 11;
const OPTION_HEAD = 4;

/** A question with EDNS and padding. @throws RangeError for a text that is no name */
export function encodeQuery(name: string, options: QueryOptions = {}): Uint8Array<ArrayBuffer> {
  const { type = TXT, dnssecOk = false, checkingDisabled = false, id = 0 } = options;
  const { wire } = nameFromText(name);
  const bare = HEADER + wire.length + 4 + OPT_HEAD + OPTION_HEAD;
  const padding = (PADDED - (bare % PADDED)) % PADDED;
  const message = new Uint8Array(bare + padding);
  const view = new DataView(message.buffer);
  view.setUint16(0, id);
  // RD, and CD.
  view.setUint16(2, checkingDisabled ? 0x0110 : 0x0100);
  view.setUint16(4, 1);
  view.setUint16(10, 1);
  message.set(wire, HEADER);
  let at = HEADER + wire.length;
  view.setUint16(at, type);
  view.setUint16(at + 2, IN);
  at += 4;
  view.setUint16(at + 1, OPT);
  view.setUint16(at + 3, UDP_SIZE);
  view.setUint16(at + 7, dnssecOk ? 0x8000 : 0);
  view.setUint16(at + 9, OPTION_HEAD + padding);
  view.setUint16(at + 11, EDNS_PADDING);
  view.setUint16(at + 13, padding);
  return message;
}
