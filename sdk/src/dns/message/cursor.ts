import { type DnsName, readName } from './dns-name.ts';

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
