import { EDNS_OPTION, extendedErrorName, RRTYPE, rrtypeName } from '../../../../src/protocol/dns/codes.ts';
import { foldName } from '../../../../src/protocol/dns/name.ts';
import {
  CAA_TAG,
  type FieldForm,
  fieldText,
  genericText,
  isBitmapWindow,
  RDATA_LAYOUTS,
  typesIn,
} from '../../../../src/protocol/dns/rdata/present.ts';
import { encodeHex, latin1Of } from '../../../../src/protocol/encodings.ts';
import { type Cursor, type DnsName, MessageError, type Section } from './cursor.ts';
import { FOLDED, type RdataFields, type RdataType } from './rdata.ts';

const NAMES: ReadonlyMap<number, string> = new Map([
  [EDNS_OPTION.NSID, 'NSID'],
  [EDNS_OPTION.ECS, 'client subnet'],
  [EDNS_OPTION.COOKIE, 'cookie'],
  [EDNS_OPTION.KEEPALIVE, 'keepalive'],
  [EDNS_OPTION.PADDING, 'padding'],
  [EDNS_OPTION.EDE, 'extended error'],
]);

export interface EdnsOption {
  readonly code: number;
  /** `padding`, or `option 65001`. */
  readonly name: string;
  readonly octets: Uint8Array;
  readonly text: string;
}

/** An extended error (RFC 8914). */
export interface ExtendedError {
  readonly code: number;
  /** Registered purpose: `Prohibited`. */
  readonly name: string;
  /** What the server says to it; may be empty. */
  readonly text: string;
}

/** What the OPT record says. */
export interface Edns {
  /** Octets that the sender takes over UDP. */
  readonly udpSize: number;
  readonly version: number;
  readonly dnssecOk: boolean;
  readonly options: readonly EdnsOption[];
  readonly extendedErrors: readonly ExtendedError[];
  /** Whether every octet of padding is zero, as RFC 7830 demands. */
  readonly isPaddingZero: boolean;
}

function readOption(code: number, octets: Uint8Array): EdnsOption {
  return { code, name: NAMES.get(code) ?? `option ${code}`, octets, text: optionText(code, octets) };
}

function extendedErrorsOf(options: readonly EdnsOption[]): readonly ExtendedError[] {
  return options.flatMap(({ code, octets }) => {
    const error = code === EDNS_OPTION.EDE ? readExtendedError(octets) : null;
    return error === null ? [] : [error];
  });
}

export function isPaddingZero(options: readonly EdnsOption[]): boolean {
  return options.every(
    ({ code, octets }) => code !== EDNS_OPTION.PADDING || octets.every((octet) => octet === 0),
  );
}

function readExtendedError(octets: Uint8Array): ExtendedError | null {
  const [high, low] = octets;
  if (high === undefined || low === undefined) return null;
  const code = (high << 8) | low;
  return { code, name: extendedErrorName(code), text: new TextDecoder().decode(octets.subarray(2)) };
}

function optionText(code: number, octets: Uint8Array): string {
  if (code === EDNS_OPTION.PADDING) return `${octets.length} octets`;
  if (code === EDNS_OPTION.COOKIE) {
    const server = octets.length > 8 ? ` ${encodeHex(octets.subarray(8))}` : '';
    return `${encodeHex(octets.subarray(0, 8))}${server}`;
  }
  if (code === EDNS_OPTION.NSID) return new TextDecoder().decode(octets);
  const error = code === EDNS_OPTION.EDE ? readExtendedError(octets) : null;
  if (error !== null) return `${error.code} ${error.name}${error.text === '' ? '' : `: ${error.text}`}`;
  if (code === EDNS_OPTION.KEEPALIVE && octets.length === 2) {
    return `${(((octets[0] ?? 0) << 8) | (octets[1] ?? 0)) / 10} s`;
  }
  return encodeHex(octets);
}

export interface ResourceRecord {
  readonly section: Section;
  readonly owner: DnsName;
  readonly type: number;
  readonly class: number;
  /** Seconds. */
  readonly ttl: number;
  /** Rdata with whole names, in lower case where signatures need it (RFC 4034, section 6.2). */
  readonly canonical: Uint8Array<ArrayBuffer>;
  /** As a master file prints it. */
  readonly text: string;
  /** Octets of the whole record. */
  readonly from: number;
  readonly to: number;
  /** Use `rdataOf`, which is typed. Null: a type that is not taken apart. */
  readonly fields: Readonly<Record<string, unknown>> | null;
}

/** The fields of a record of the given type; null for a record of another type. */
export function rdataOf<T extends RdataType>(record: ResourceRecord, type: T): RdataFields[T] | null {
  return rrtypeName(record.type) === type && record.fields !== null
    ? (record.fields as RdataFields[T])
    : null;
}

/** The joined character strings of a TXT record; null for a record of another type. */
export function txtOf(record: ResourceRecord): Uint8Array<ArrayBuffer> | null {
  const txt = rdataOf(record, 'TXT');
  return txt && Uint8Array.from(txt.characters.flatMap((octets) => [...octets]));
}

/** Reads a record, or the OPT record, which has no owner and no TTL. @throws MessageError */
export function readRecord(cursor: Cursor): ResourceRecord | OptRecord {
  const from = cursor.at;
  const owner = cursor.name('owner');
  const type = cursor.number(2, 'type', rrtypeName);
  if (type === RRTYPE.OPT) return readOpt(cursor, owner, from);
  const klass = cursor.number(2, 'class', (value) => (value === 1 ? 'IN' : `CLASS${value}`));
  const ttl = cursor.number(4, 'ttl', (value) => `${value} s`);
  const end = endOfRdata(cursor);
  const read = RDATA_LAYOUTS.has(type) ? readFields(cursor, type, end) : readOther(cursor, end);
  if (cursor.at !== end) throw new MessageError('rdata of another length than it says', end);
  return { section: cursor.section, owner, type, class: klass, ttl, from, to: end, ...read };
}

export interface OptRecord {
  readonly edns: Edns;
  /** Upper eight bits of the response code. */
  readonly extendedRcode: number;
}

function readOpt(cursor: Cursor, owner: DnsName, from: number): OptRecord {
  if (owner.wire.length > 1 || cursor.section !== 'additional') {
    throw new MessageError('an OPT record in the wrong place', from);
  }
  const udpSize = cursor.number(2, 'udpSize', (value) => `${value} octets`);
  const extendedRcode = cursor.number(1, 'extendedRcode');
  const version = cursor.number(1, 'ednsVersion');
  const flags = cursor.number(2, 'ednsFlags', (value) => ((value & 0x8000) === 0 ? 'no DO' : 'DO'));
  const end = endOfRdata(cursor);
  const options: EdnsOption[] = [];
  while (cursor.at < end) {
    const code = cursor.number(2, 'optionCode', (value) => readOption(value, new Uint8Array()).name);
    const length = cursor.number(2, 'optionLength');
    options.push(
      readOption(
        code,
        cursor.bytes(length, 'optionData', (octets) => readOption(code, octets).text),
      ),
    );
  }
  if (cursor.at !== end) throw new MessageError('an option longer than its record', end);
  const edns = {
    udpSize,
    version,
    dnssecOk: (flags & 0x8000) !== 0,
    options,
    extendedErrors: extendedErrorsOf(options),
    isPaddingZero: isPaddingZero(options),
  };
  return { edns, extendedRcode };
}

function endOfRdata(cursor: Cursor): number {
  const length = cursor.number(2, 'rdlength', (value) => `${value} octets`);
  const end = cursor.at + length;
  if (end > cursor.octets.length) throw new MessageError('cut off', cursor.octets.length);
  return end;
}

type Rdata = Pick<ResourceRecord, 'canonical' | 'text' | 'fields'>;

/** RFC 3597, section 5. */
function readOther(cursor: Cursor, end: number): Rdata {
  const octets = cursor.bytes(end - cursor.at, 'data', encodeHex);
  return { canonical: Uint8Array.from(octets), text: genericText(octets), fields: null };
}

function readFields(cursor: Cursor, type: number, end: number): Rdata {
  const fields: Record<string, unknown> = {};
  const canonical: number[] = [];
  const texts: string[] = [];
  for (const [field, form] of RDATA_LAYOUTS.get(type)!) {
    const from = cursor.at;
    const value = readField(cursor, field, form, end);
    if (cursor.at > end) throw new MessageError('a field longer than its record', end);
    fields[field] = value;
    const wire = form === 'name' ? (value as DnsName).wire : null;
    texts.push(fieldText(form, wire ?? value));
    if (wire === null) for (let at = from; at < cursor.at; at += 1) canonical.push(cursor.octets[at] ?? 0);
    else canonical.push(...(FOLDED.has(type) ? foldName(wire) : wire));
  }
  return { fields, canonical: Uint8Array.from(canonical), text: texts.join(' ').trimEnd() };
}

const SIZES: Partial<Readonly<Record<FieldForm, number>>> = { u8: 1, u16: 2, type: 2, u32: 4, time: 4 };

function readField(cursor: Cursor, field: string, form: FieldForm, end: number): unknown {
  const text = (value: unknown): string => fieldText(form, value);
  switch (form) {
    case 'name':
      return cursor.name(field);
    case 'ipv4':
      return cursor.bytes(4, field, text);
    case 'ipv6':
      return cursor.bytes(16, field, text);
    case 'quoted':
    case 'hex':
    case 'base64':
      return cursor.bytes(Math.max(0, end - cursor.at), field, text);
    case 'string':
      return readString(cursor, field, end);
    case 'tag': {
      const tag = readString(cursor, field, end);
      if (!CAA_TAG.test(latin1Of(tag))) throw new MessageError('not a tag', cursor.at);
      return tag;
    }
    case 'strings':
      return readStrings(cursor, field, end);
    case 'bitmap':
      return readBitmap(cursor, field, end);
    default:
      return cursor.number(SIZES[form]!, field, text);
  }
}

function readString(cursor: Cursor, field: string, end: number): Uint8Array {
  const length = cursor.number(1, 'length');
  if (cursor.at + length > end) throw new MessageError('a character string longer than its record', end);
  return cursor.bytes(length, field, (octets) => fieldText('string', octets));
}

function readStrings(cursor: Cursor, field: string, end: number): readonly Uint8Array[] {
  const strings: Uint8Array[] = [];
  while (cursor.at < end) strings.push(readString(cursor, field, end));
  // A TXT record has at least one character string (RFC 1035, section 3.3.14).
  if (strings.length === 0) throw new MessageError('no character string', end);
  return strings;
}

/** RFC 4034, section 4.1.2. */
function readBitmap(cursor: Cursor, field: string, end: number): readonly number[] {
  const types: number[] = [];
  let last = -1;
  while (cursor.at < end) {
    const window = cursor.number(1, 'window');
    const length = cursor.number(1, 'length');
    if (!isBitmapWindow(window, last, length) || cursor.at + length > end)
      throw new MessageError('not a type bitmap', cursor.at);
    last = window;
    const text = (octets: Uint8Array): string => fieldText('bitmap', typesIn(window, octets));
    types.push(...typesIn(window, cursor.bytes(length, field, text)));
  }
  return types;
}
