import { randomBytes } from 'node:crypto';

const WAYS = 4;
/** 65,536 buckets: 0.8 MB. */
const SETS = 16_384;
/** Words of a bucket: tag, end of its period (seconds since the epoch), count. */
const CELL = 3;
const UNTIL = 1;
const COUNT = 2;
/** Words of the random hash seed at the start. */
const HEAD = 4;
const WORD_OCTETS = 4;
/** Longest period in seconds. A later end was written before the clock was set back. */
const LONGEST_PERIOD = 60;

/** Memory of a `RateTable`, shared by all threads of a node: zeros and a random seed. */
export function createRateMemory(sets = SETS): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((HEAD + sets * WAYS * CELL) * WORD_OCTETS);
  new Uint8Array(memory, 0, HEAD * WORD_OCTETS).set(randomBytes(HEAD * WORD_OCTETS));
  return memory;
}

/**
 * Counts events by key in fixed periods, in fixed memory: a hash table of buckets with 32-bit tags. In a full set a new key
 * replaces the bucket that ends first, then the lowest count, so a flood of sources does not remove those over their limit.
 * Threads write without locks: a count is sometimes lost.
 */
export class RateTable {
  readonly #words: Uint32Array;
  readonly #mask: number;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Uint32Array(memory);
    this.#mask = (this.#words.length - HEAD) / (WAYS * CELL) - 1;
  }

  /**
   * Counts one event.
   * @param high @param low the key: 64 bits of a network
   * @param now seconds since the epoch
   * @param seconds length of the period, at most 60; one value per kind
   * @returns events of this key and kind in the current period, including this one
   */
  count(high: number, low: number, kind: number, now: number, seconds: number): number {
    const words = this.#words;
    const tag = tagOf(words, high, low, kind);
    const first = HEAD + (hashOf(words, high, low, kind) & this.#mask) * WAYS * CELL;
    let free = first;
    let freeUntil = Number.POSITIVE_INFINITY;
    for (let at = first; at < first + WAYS * CELL; at += CELL) {
      const until = words[at + UNTIL]!;
      if (words[at] === tag) {
        if (until > now && until <= now + seconds) {
          words[at + COUNT] = words[at + COUNT]! + 1;
          return words[at + COUNT]!;
        }
        free = at;
        break;
      }
      const ends = until > now + LONGEST_PERIOD ? 0 : until;
      if (ends < freeUntil || (ends === freeUntil && words[at + COUNT]! < words[free + COUNT]!)) {
        free = at;
        freeUntil = ends;
      }
    }
    words[free] = tag;
    words[free + UNTIL] = periodEnd(now, seconds);
    words[free + COUNT] = 1;
    return 1;
  }

  /** The result of `count`, without counting. */
  peek(high: number, low: number, kind: number, now: number, seconds: number): number {
    const words = this.#words;
    const tag = tagOf(words, high, low, kind);
    const first = HEAD + (hashOf(words, high, low, kind) & this.#mask) * WAYS * CELL;
    for (let at = first; at < first + WAYS * CELL; at += CELL) {
      if (words[at] !== tag) continue;
      const until = words[at + UNTIL]!;
      return until > now && until <= now + seconds ? words[at + COUNT]! : 0;
    }
    return 0;
  }
}

/** End of the period that holds `now`, seconds since the epoch. Periods start at multiples of their length. */
export function periodEnd(now: number, seconds: number): number {
  return now - (now % seconds) + seconds;
}

/** The set of a key, in the low bits. The seed is the first three words. */
function hashOf(words: Uint32Array, high: number, low: number, kind: number): number {
  let hash = mix(words[0]! ^ high);
  hash = mix(hash ^ words[1]! ^ low);
  return mix(hash ^ words[2]! ^ kind);
}

function tagOf(words: Uint32Array, high: number, low: number, kind: number): number {
  return mix(Math.imul(high, 0x9e3779b1) ^ mix(low ^ words[3]!) ^ Math.imul(kind, 0x85ebca77)) >>> 0;
}

/** The finaliser of MurmurHash3. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
