import { FIELD_OVERHEAD, type HeaderField, makeField, STATIC_TABLE } from './hpack-field.ts';
import { BLOCK_OCTETS, TABLE_OCTETS } from './limits.ts';

// The Huffman code of HPACK (RFC 7541 §5.2, appendix B).

/** Code lengths in bits of octets 0 to 255 and EOS. The code is canonical: lengths define it. */
// biome-ignore format: a table
const LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];
const EOS = 256;
/** The shortest code has five bits: maximum octets per input octet. */
export const HUFFMAN_GROWTH = 8 / 5;
/** Padding is the first bits of EOS, all ones, less than one octet. */
const PADDING_BITS_MAX = 7;

/** Decoding reads 4 bits. Bits 0 to 7 of an entry: next state; then these flags; then the complete octet. */
const EMITS = 1 << 8;
const FAILS = 1 << 9;
const OCTET_SHIFT = 10;

interface Decoding {
  /** By state and 4 input bits. */
  readonly steps: Uint32Array;
  /** 1 for states in which a text may end. */
  readonly ends: Uint8Array;
}

const { steps, ends } = makeDecoding();

/**
 * Decodes `input[from..to)` into `out`, which needs `HUFFMAN_GROWTH` times that space.
 * @returns the octets written; -1 for EOS or invalid padding
 */
export function huffmanDecode(input: Uint8Array, from: number, to: number, out: Uint8Array): number {
  let state = 0;
  let length = 0;
  let seen = 0;
  for (let i = from; i < to; i++) {
    const octet = input[i]!;
    const high = steps[(state << 4) | (octet >> 4)]!;
    if ((high & EMITS) !== 0) out[length++] = high >> OCTET_SHIFT;
    const low = steps[((high & 0xff) << 4) | (octet & 0xf)]!;
    if ((low & EMITS) !== 0) out[length++] = low >> OCTET_SHIFT;
    state = low & 0xff;
    seen |= high | low;
  }
  return (seen & FAILS) !== 0 || ends[state] === 0 ? -1 : length;
}

/** The code tree as pairs of children: next states, or octets (and EOS) as `-1 - octet`. */
function makeTree(): number[][] {
  const tree: number[][] = [[]];
  const ordered = LENGTHS.map((bits, symbol) => ({ bits, symbol })).sort(
    (a, b) => a.bits - b.bits || a.symbol - b.symbol,
  );
  let code = 0;
  let width = 0;
  for (const { bits, symbol } of ordered) {
    code <<= bits - width;
    width = bits;
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const branch = (code >> bit) & 1;
      tree[node]![branch] ??= tree.push([]) - 1;
      node = tree[node]![branch]!;
    }
    tree[node]![code & 1] = -1 - symbol;
    code++;
  }
  return tree;
}

function makeDecoding(): Decoding {
  const tree = makeTree();
  const table = new Uint32Array(tree.length << 4);
  for (const [state] of tree.entries()) {
    for (let half = 0; half < 16; half++) table[(state << 4) | half] = walk(tree, state, half);
  }
  const final = new Uint8Array(tree.length);
  let node = 0;
  for (let bits = 0; bits <= PADDING_BITS_MAX; bits++) {
    final[node] = 1;
    node = tree[node]![1]!;
  }
  return { steps: table, ends: final };
}

function walk(tree: readonly number[][], state: number, half: number): number {
  let node = state;
  let entry = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const next = tree[node]![(half >> bit) & 1]!;
    node = Math.max(next, 0);
    if (next < 0) entry |= next === -1 - EOS ? FAILS : EMITS | ((-1 - next) << OCTET_SHIFT);
  }
  return entry | node;
}

/** The minimum size of a field bounds the number of entries. */
const CAPACITY = TABLE_OCTETS / FIELD_OVERHEAD;

/** The tables of a decoder: static, then dynamic with the newest entry first (RFC 7541 §2.3, §4). */
export class HpackTable {
  /** Increases with each change of the dynamic table: equal versions decode a block equally. */
  generation = 0;
  /** A ring. Unused positions are undefined, so that evicted fields can be collected. */
  readonly #ring: (HeaderField | undefined)[] = [];
  #newest = 0;
  #count = 0;
  #octets = 0;
  #limit = TABLE_OCTETS;

  /** @returns undefined for an index without an entry, 0 included */
  at(index: number): HeaderField | undefined {
    if (index <= STATIC_TABLE.length) return STATIC_TABLE[index - 1];
    const age = index - STATIC_TABLE.length - 1;
    return age < this.#count ? this.#ring[(this.#newest - age + CAPACITY) % CAPACITY] : undefined;
  }

  /** A field larger than the table empties it (RFC 7541 §4.4). */
  insert(field: HeaderField): void {
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
  decode(block: Buffer, from: number, to: number, take: (field: HeaderField) => void): boolean {
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
  #field(first: number): HeaderField | undefined {
    if (first >= 0x80) return this.#table.at(this.#integer(0x7f));
    if (first >= 0x40) {
      const field = this.#literal(this.#integer(0x3f));
      if (field !== undefined) this.#table.insert(field);
      return field;
    }
    // 0x20: a size update after a field is invalid. Others: literals without indexing.
    return first >= 0x20 ? undefined : this.#literal(this.#integer(0x0f));
  }

  #literal(index: number): HeaderField | undefined {
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
