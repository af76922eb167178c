import {
  foldName,
  isSubdomain,
  nameToText,
  readName,
  nameFromText as wireFromText,
} from '../../../../src/protocol/dns/name.ts';

/** A name (RFC 1035, sections 3.1 and 4.1.4). */
export interface DnsName {
  /** Labels with dots between, no dot at the end; `.` for the root. As master files escape it: `\DDD` where it is not printable. */
  readonly text: string;
  /** Without compression, in the case of the message. */
  readonly wire: Uint8Array<ArrayBuffer>;
}

/** @throws RangeError for a text that is no name: an empty or long label, other characters than ASCII */
export function nameFromText(text: string): DnsName {
  // A backslash would be an escape, which names of this service never need.
  const wire = /^[!-[\]-~]*$/.test(text) ? wireFromText(text) : null;
  if (wire === null)
    throw new RangeError('a name has labels of 1 to 63 printable ASCII characters, 255 octets at most');
  return { text: textOf(wire), wire };
}

function textOf(wire: Uint8Array): string {
  return wire.length === 1 ? '.' : nameToText(wire).slice(0, -1);
}

/** Whether two names are equal, without regard to case. */
export function isSameName(a: DnsName, b: DnsName): boolean {
  return sameOctets(foldName(a.wire), foldName(b.wire));
}

/** Whether a name is a zone's apex or below it. */
export function isAtOrBelow(name: DnsName, zone: DnsName): boolean {
  return isSubdomain(name.wire, zone.wire);
}

export function sameOctets(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((octet, at) => octet === b[at]);
}

export type Section = 'header' | 'question' | 'answer' | 'authority' | 'additional';

/** The octets of one field. The spans of a message follow each other without gaps. */
export interface OctetSpan {
  readonly from: number;
  /** The place after the last octet. */
  readonly to: number;
  readonly section: Section;
  /** Place of the question or record in its section; null in the header. */
  readonly record: number | null;
  /** Name of the field: `id`, `owner`, `ttl`, `keyTag`, ... */
  readonly field: string;
  readonly text: string;
}

/** Octets that are no DNS message. */
export class MessageError extends RangeError {
  override readonly name = 'MessageError';
  /** The octet at which the reading ended. */
  readonly at: number;

  constructor(what: string, at: number) {
    super(`${what} at octet ${at}`);
    this.at = at;
  }
}

/** Reads a message from its first octet to its last, and notes what each octet belongs to. */
export class Cursor {
  readonly octets: Uint8Array;
  readonly spans: OctetSpan[] = [];
  section: Section = 'header';
  record: number | null = null;
  at = 0;

  constructor(octets: Uint8Array) {
    this.octets = octets;
  }

  /** An unsigned number of 1 to 4 octets. */
  number(size: number, field: string, text: (value: number) => string = String): number {
    const value = this.#take(size).reduce((sum, octet) => sum * 256 + octet, 0);
    this.#note(size, field, text(value));
    return value;
  }

  bytes(size: number, field: string, text: (octets: Uint8Array) => string): Uint8Array {
    const octets = this.#take(size);
    this.#note(size, field, text(octets));
    return octets;
  }

  name(field: string): DnsName {
    const read = readName(this.octets, this.at, this.octets.length);
    if (read === null) throw new MessageError('not a name', this.at);
    const name = { text: textOf(read.name), wire: read.name };
    const size = read.next - this.at;
    this.at = read.next;
    this.#note(size, field, name.text);
    return name;
  }

  #take(size: number): Uint8Array {
    const end = this.at + size;
    if (end > this.octets.length) throw new MessageError('cut off', this.octets.length);
    const octets = this.octets.subarray(this.at, end);
    this.at = end;
    return octets;
  }

  #note(size: number, field: string, text: string): void {
    if (size === 0) return;
    const { section, record } = this;
    this.spans.push({ from: this.at - size, to: this.at, section, record, field, text });
  }
}
