import type { Reply } from '../reply/reply.ts';
import type { ScannedQuery } from './scanned-query.ts';

/** Reads a freshness counter, which the follower increments in shared memory. */
export type ReadCounter = (index: number) => number;

/** Conditions under which a cached reply is served. */
export interface Validity {
  /** Milliseconds since the epoch. Before this time the reply is void, because the clock was set back. */
  readonly from: number;
  /** Milliseconds since the epoch. The reply is void from this time on. 0: not cacheable. */
  readonly until: number;
  /** Index of a freshness counter, with the value it had before the view was read. */
  readonly namespaceStripe: number;
  readonly namespaceCount: number;
  readonly keyStripe: number;
  readonly keyCount: number;
}

/**
 * A row is one cache line of 16 words. Its first 12 are used: the allocator puts large arrays 16 octets into a line, and so
 * no row is in two lines.
 */
const ROW_WORDS = 16;
/** In units of 8 octets. */
const TIMES = ROW_WORDS / 2;
const FROM = 0;
const UNTIL = 1;
/** In words. */
const NAMESPACE_STRIPE = 4;
const NAMESPACE_COUNT = 5;
const KEY_STRIPE = 6;
const KEY_COUNT = 7;
const PLACE = 8;
const LENGTH = 9;
const OPT_AT = 10;
const BITS = 11;
/** CLOCK reference bit in `BITS`: set on every hit, cleared when replacement passes the row. */
const USED = 0x100;
const EDNS = 0xff;
/** The hash of an empty row. */
const EMPTY = 0;

/** Octets of a row with its hash. */
export const ROW_OCTETS = (ROW_WORDS + 1) * 4;

/**
 * What the packet cache knows of each reply, in two arrays: 4 octets of hash a row, so that the hashes of a bucket are in one
 * cache line, and one cache line for the rest.
 */
export class CacheRows {
  private readonly hashes: Uint32Array;
  private readonly words: Int32Array;
  private readonly times: Float64Array;

  constructor(rows: number) {
    this.hashes = new Uint32Array(rows);
    this.words = new Int32Array(rows * ROW_WORDS);
    this.times = new Float64Array(this.words.buffer);
  }

  hashOf(row: number): number {
    return this.hashes[row]!;
  }

  isEmpty(row: number): boolean {
    return this.hashes[row] === EMPTY;
  }

  /** Offset of the reply in the arena. */
  placeOf(row: number): number {
    return this.words[row * ROW_WORDS + PLACE]!;
  }

  /** Octets of the reply. */
  lengthOf(row: number): number {
    return this.words[row * ROW_WORDS + LENGTH]!;
  }

  /** Offset of the OPT record in the reply. */
  optOf(row: number): number {
    return this.words[row * ROW_WORDS + OPT_AT]!;
  }

  ednsOf(row: number): number {
    return this.words[row * ROW_WORDS + BITS]! & EDNS;
  }

  isUsed(row: number): boolean {
    return (this.words[row * ROW_WORDS + BITS]! & USED) !== 0;
  }

  setUsed(row: number): void {
    this.words[row * ROW_WORDS + BITS]! |= USED;
  }

  clearUsed(row: number): void {
    this.words[row * ROW_WORDS + BITS]! &= ~USED;
  }

  isValid(row: number, now: number, readCounter: ReadCounter): boolean {
    const { words, times } = this;
    const first = row * ROW_WORDS;
    return (
      now >= times[row * TIMES + FROM]! &&
      now < times[row * TIMES + UNTIL]! &&
      readCounter(words[first + KEY_STRIPE]!) === words[first + KEY_COUNT] &&
      readCounter(words[first + NAMESPACE_STRIPE]!) === words[first + NAMESPACE_COUNT]
    );
  }

  write(row: number, query: ScannedQuery, place: number, reply: Reply, validity: Validity): void {
    const { words, times } = this;
    const first = row * ROW_WORDS;
    this.hashes[row] = query.hash;
    times[row * TIMES + FROM] = validity.from;
    times[row * TIMES + UNTIL] = validity.until;
    words[first + NAMESPACE_STRIPE] = validity.namespaceStripe;
    words[first + NAMESPACE_COUNT] = validity.namespaceCount;
    words[first + KEY_STRIPE] = validity.keyStripe;
    words[first + KEY_COUNT] = validity.keyCount;
    words[first + PLACE] = place;
    words[first + LENGTH] = reply.bytes.length;
    words[first + OPT_AT] = reply.optAt;
    words[first + BITS] = query.edns;
  }

  clear(row: number): void {
    this.hashes[row] = EMPTY;
  }
}
