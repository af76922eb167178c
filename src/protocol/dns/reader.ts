import { readName, skipPlainName } from './name.ts';
import { copyOctets, u16At, u32At } from './octets.ts';

const NOTHING = new Uint8Array(0);

/**
 * Reads fields in order, off the hot path; returned octets are copies. After a read past the end or a malformed name
 * every later read fails too, so a parser checks `complete` or `failed` once, at the end.
 */
export class WireReader {
  failed = false;
  at: number;
  private readonly octets: Uint8Array;
  private readonly end: number;

  constructor(octets: Uint8Array, start = 0, end: number = octets.length) {
    this.octets = octets;
    this.at = start;
    this.end = end;
  }

  get complete(): boolean {
    return !this.failed && this.at === this.end;
  }

  get remaining(): number {
    return this.end - this.at;
  }

  u8(): number {
    const at = this.advance(1);
    return at < 0 ? 0 : this.octets[at]!;
  }

  u16(): number {
    const at = this.advance(2);
    return at < 0 ? 0 : u16At(this.octets, at);
  }

  u32(): number {
    const at = this.advance(4);
    return at < 0 ? 0 : u32At(this.octets, at);
  }

  bytes(length: number): Uint8Array {
    const at = this.advance(length);
    return at < 0 ? NOTHING : copyOctets(this.octets, at, at + length);
  }

  rest(): Uint8Array {
    return this.bytes(this.remaining);
  }

  /** A character string without its length octet (RFC 1035 §3.3). */
  characterString(): Uint8Array {
    return this.bytes(this.u8());
  }

  /** A name that may be compressed against the whole message. */
  name(): Uint8Array {
    const read = this.failed ? null : readName(this.octets, this.at, this.end);
    if (read === null) {
      this.failed = true;
      return NOTHING;
    }
    this.at = read.next;
    return read.name;
  }

  /** A name that must not be compressed, as in rdata outside a message. */
  plainName(): Uint8Array {
    const next = this.failed ? -1 : skipPlainName(this.octets, this.at, this.end);
    if (next < 0) this.failed = true;
    return next < 0 ? NOTHING : this.bytes(next - this.at);
  }

  private advance(length: number): number {
    const at = this.at;
    if (this.failed || length > this.end - at) {
      this.failed = true;
      return -1;
    }
    this.at = at + length;
    return at;
  }
}
