/** Names in wire form (RFC 1035, sections 3.1 and 4.1.4). */

export interface DnsName {
  /** Labels with dots between, no dot at the end; `.` for the root. Octets that are not printable are `\DDD`. */
  readonly text: string;
  /** Without compression, in the case of the message. */
  readonly wire: Uint8Array<ArrayBuffer>;
}

const NAME_MAX = 255;
const LABEL_MAX = 63;
const POINTER = 0xc0;
/** A name of 255 octets has at most 127 labels, and needs no more pointers than labels. */
const JUMPS_MAX = 127;

/** @throws RangeError for a text that is no name: an empty or long label, other characters than ASCII */
export function nameFromText(text: string): DnsName {
  const bare = text.endsWith('.') ? text.slice(0, -1) : text;
  const labels = bare === '' ? [] : bare.split('.');
  const wire: number[] = [];
  for (const label of labels) {
    if (label === '' || label.length > LABEL_MAX) throw new RangeError('a label has 1 to 63 characters');
    // A backslash would be an escape, which names of this service never need.
    if (!/^[!-[\]-~]+$/.test(label)) throw new RangeError('a label has printable ASCII characters');
    wire.push(label.length, ...Array.from(label, (letter) => letter.charCodeAt(0)));
  }
  wire.push(0);
  if (wire.length > NAME_MAX) throw new RangeError('a name has at most 255 octets');
  return { text: labels.join('.') || '.', wire: Uint8Array.from(wire) };
}

/**
 * Reads a name of a message. Each pointer must lead to an earlier place than the labels before it began, so a loop
 * cannot occur. Without a bound, names that end at a long chain of pointers would each cost the whole chain.
 * @returns null for octets that are no name; `end` is the place after the name or its first pointer
 */
export function readName(
  octets: Uint8Array,
  start: number,
): { readonly name: DnsName; readonly end: number } | null {
  const wire: number[] = [];
  const labels: string[] = [];
  let end: number | null = null;
  let bound = start;
  let jumps = 0;
  for (let at = start; ; ) {
    const length = octets[at];
    if (length === undefined) return null;
    if (length >= POINTER) {
      const low = octets[at + 1];
      if (low === undefined) return null;
      end ??= at + 2;
      at = ((length & 0x3f) << 8) | low;
      jumps += 1;
      if (at >= bound || jumps > JUMPS_MAX) return null;
      bound = at;
      continue;
    }
    const after = at + 1 + length;
    if (length > LABEL_MAX || after > octets.length || wire.length + 1 + length > NAME_MAX) return null;
    wire.push(...octets.subarray(at, after));
    if (length === 0) break;
    labels.push(escaped(octets.subarray(at + 1, after), '.\\', 0x21));
    at = after;
  }
  return {
    name: { text: labels.join('.') || '.', wire: Uint8Array.from(wire) },
    end: end ?? start + wire.length,
  };
}

/** ASCII letters in lower case (RFC 4034, section 6.2). Length octets are at most 63 and no letters. */
export function foldedName(wire: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(wire, (octet) => (octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet));
}

/** Whether two names are equal, without regard to case. */
export function isSameName(a: DnsName, b: DnsName): boolean {
  return sameOctets(foldedName(a.wire), foldedName(b.wire));
}

/** Whether a name is a zone's apex or below it. */
export function isAtOrBelow(name: DnsName, zone: DnsName): boolean {
  const below = foldedName(name.wire);
  for (let at = 0; at < below.length; at += 1 + (below[at] ?? 0)) {
    if (sameOctets(below.subarray(at), foldedName(zone.wire))) return true;
    if (below[at] === 0) break;
  }
  return false;
}

/** Number of labels, without the root. */
export function labelCount({ wire }: DnsName): number {
  let count = 0;
  for (let at = 0; (wire[at] ?? 0) > 0; at += 1 + (wire[at] ?? 0)) count += 1;
  return count;
}

export function sameOctets(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((octet, at) => octet === b[at]);
}

/**
 * Octets as a master file prints them: `\DDD` where they are not printable (RFC 4343, section 2.1).
 * @param special characters that get a backslash. @param first of the printable octets
 */
export function escaped(octets: Uint8Array, special: string, first: number): string {
  return Array.from(octets, (octet) => {
    if (octet < first || octet > 0x7e) return `\\${String(octet).padStart(3, '0')}`;
    const letter = String.fromCharCode(octet);
    return special.includes(letter) ? `\\${letter}` : letter;
  }).join('');
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
    const read = readName(this.octets, this.at);
    if (read === null) throw new MessageError('not a name', this.at);
    const size = read.end - this.at;
    this.at = read.end;
    this.#note(size, field, read.name.text);
    return read.name;
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
