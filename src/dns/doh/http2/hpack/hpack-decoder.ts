import { BLOCK_OCTETS, TABLE_OCTETS } from '../limits.ts';
import { FIELD_OVERHEAD, type Field, makeField } from './field.ts';
import { HUFFMAN_GROWTH, huffmanDecode } from './huffman.ts';
import { STATIC_TABLE } from './static-table.ts';

/** The minimum size of a field bounds the number of entries. */
const CAPACITY = TABLE_OCTETS / FIELD_OVERHEAD;

/** The tables of a decoder: static, then dynamic with the newest entry first (RFC 7541 §2.3, §4). */
export class HpackTable {
  /** Increases with each change of the dynamic table: equal versions decode a block equally. */
  generation = 0;
  /** A ring. Unused positions are undefined, so that evicted fields can be collected. */
  readonly #ring: (Field | undefined)[] = [];
  #newest = 0;
  #count = 0;
  #octets = 0;
  #limit = TABLE_OCTETS;

  /** @returns undefined for an index without an entry, 0 included */
  at(index: number): Field | undefined {
    if (index <= STATIC_TABLE.length) return STATIC_TABLE[index - 1];
    const age = index - STATIC_TABLE.length - 1;
    return age < this.#count ? this.#ring[(this.#newest - age + CAPACITY) % CAPACITY] : undefined;
  }

  /** A field larger than the table empties it (RFC 7541 §4.4). */
  insert(field: Field): void {
    this.generation++;
    this.#evict(this.#limit - field.octets);
    if (field.octets > this.#limit) return;
    this.#newest = (this.#newest + 1) % CAPACITY;
    this.#ring[this.#newest] = field;
    this.#count++;
    this.#octets += field.octets;
  }

  /** @returns false for a size above our limit */
  resize(octets: number): boolean {
    if (octets > TABLE_OCTETS) return false;
    this.generation++;
    this.#limit = octets;
    this.#evict(octets);
    return true;
  }

  #evict(octets: number): void {
    while (this.#count > 0 && this.#octets > octets) {
      const oldest = (this.#newest - this.#count + 1 + CAPACITY) % CAPACITY;
      this.#octets -= this.#ring[oldest]!.octets;
      this.#ring[oldest] = undefined;
      this.#count--;
    }
  }
}

/** A table size may change twice before a block: to the minimum, then to the last value (RFC 7541 §4.2). */
const RESIZES_MAX = 2;
/** Octets of an integer after its prefix: 28 bits, far above any valid value. */
const INTEGER_OCTETS = 4;
const FAULT = -1;

const scratch = Buffer.allocUnsafeSlow(Math.ceil(BLOCK_OCTETS * HUFFMAN_GROWTH));

/** Decodes header blocks (RFC 7541 §3, §6). After an invalid block the table is wrong: the connection must end. */
export class HpackDecoder {
  readonly #table = new HpackTable();
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  get generation(): number {
    return this.#table.generation;
  }

  /** Decodes `block[from..to)`, at most `BLOCK_OCTETS`, in order. @returns false for COMPRESSION_ERROR */
  decode(block: Buffer, from: number, to: number, take: (field: Field) => void): boolean {
    this.#block = block;
    this.#at = from;
    this.#end = to;
    if (!this.#resizes()) return false;
    while (this.#at < to) {
      const field = this.#field(block[this.#at]!);
      if (field === undefined) return false;
      take(field);
    }
    return true;
  }

  /** Size updates come before the first field (RFC 7541 §4.2). */
  #resizes(): boolean {
    for (let count = 0; this.#at < this.#end && (this.#block[this.#at]! & 0xe0) === 0x20; count++) {
      const octets = this.#integer(0x1f);
      if (count === RESIZES_MAX || octets === FAULT || !this.#table.resize(octets)) return false;
    }
    return true;
  }

  /** One field (RFC 7541 §6.1, §6.2); undefined: invalid. */
  #field(first: number): Field | undefined {
    if (first >= 0x80) return this.#table.at(this.#integer(0x7f));
    if (first >= 0x40) {
      const field = this.#literal(this.#integer(0x3f));
      if (field !== undefined) this.#table.insert(field);
      return field;
    }
    // 0x20: a size update after a field is invalid. Others: literals without indexing.
    return first >= 0x20 ? undefined : this.#literal(this.#integer(0x0f));
  }

  #literal(index: number): Field | undefined {
    const name = index === 0 ? this.#text() : this.#table.at(index)?.name;
    if (name === undefined) return undefined;
    const value = this.#text();
    return value === undefined ? undefined : makeField(name, value);
  }

  /** RFC 7541 §5.1. Moves past the integer. @returns it or `FAULT` */
  #integer(prefix: number): number {
    if (this.#at >= this.#end) return FAULT;
    let value = this.#block[this.#at++]! & prefix;
    if (value < prefix) return value;
    for (let shift = 0; shift < INTEGER_OCTETS * 7 && this.#at < this.#end; shift += 7) {
      const octet = this.#block[this.#at++]!;
      value += (octet & 0x7f) << shift;
      if (octet < 0x80) return value;
    }
    return FAULT;
  }

  /** RFC 7541 §5.2. */
  #text(): string | undefined {
    if (this.#at >= this.#end) return undefined;
    const huffman = this.#block[this.#at]! >= 0x80;
    const length = this.#integer(0x7f);
    const from = this.#at;
    if (length === FAULT || length > this.#end - from) return undefined;
    this.#at = from + length;
    if (!huffman) return this.#block.toString('latin1', from, this.#at);
    const octets = huffmanDecode(this.#block, from, this.#at, scratch);
    return octets < 0 ? undefined : scratch.toString('latin1', 0, octets);
  }
}
