/** The Huffman code of HPACK (RFC 7541 §5.2, appendix B). */

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
