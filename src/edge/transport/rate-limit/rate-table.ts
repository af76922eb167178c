import { randomBytes } from 'node:crypto';

/** Buckets that share a hash. */
const WAYS = 4;
/** 65,536 buckets, 0.8 MB. */
const SETS = 16_384;
/** Words of a bucket: whose it is, when its period ends (seconds since the epoch), how many came in it. */
const CELL = 3;
const UNTIL = 1;
const COUNT = 2;
/** Words at the start: the seed of the hash, which nobody outside can know. */
const HEAD = 4;
const WORD_OCTETS = 4;
/** The longest period, seconds. An end later than that is left over from a clock that was set back. */
const LONGEST_PERIOD = 60;

/** Memory of a `RateTable`, zero but for its seed. All threads of a node are given the same. */
export function createRateMemory(sets = SETS): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((HEAD + sets * WAYS * CELL) * WORD_OCTETS);
  new Uint8Array(memory, 0, HEAD * WORD_OCTETS).set(randomBytes(HEAD * WORD_OCTETS));
  return memory;
}

/**
 * Counts events by key in fixed periods, in fixed memory: a hashed table whose buckets are found again by a 32-bit
 * tag. When a set is full, a newcomer takes the bucket whose period ends first, of those the one that counted least, so a
 * flood of sources does not wash out what is over its limit.
 *
 * Threads count in the same memory without locks: now and then one overwrites another's count, which costs an event of many.
 */
export class RateTable {
  readonly #words: Uint32Array;
  readonly #mask: number;

  /** @param memory made by `createRateMemory` */
  constructor(memory: SharedArrayBuffer) {
    this.#words = new Uint32Array(memory);
    this.#mask = (this.#words.length - HEAD) / (WAYS * CELL) - 1;
  }

  /**
   * Counts one event.
   *
   * @param high @param low the key, 64 bits of a network
   * @param kind what is counted: keys of different kinds are different
   * @param now seconds since the epoch
   * @param seconds length of a period, the same for all events of a kind; at most 60
   * @returns events of this key in the present period, this one among them
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

  /** Events of this key in the present period, as `count` would have them; counts none. */
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

/**
 * The end of the period that `now` is in, seconds since the epoch. Periods are multiples of their length, so the end that a
 * bucket holds for the present period is always this one.
 */
export function periodEnd(now: number, seconds: number): number {
  return now - (now % seconds) + seconds;
}

/** Which set of buckets a key is in, in the low bits. The seed is the first three words. */
function hashOf(words: Uint32Array, high: number, low: number, kind: number): number {
  let hash = mix(words[0]! ^ high);
  hash = mix(hash ^ words[1]! ^ low);
  return mix(hash ^ words[2]! ^ kind);
}

/** What a bucket is found again by. */
function tagOf(words: Uint32Array, high: number, low: number, kind: number): number {
  return mix(Math.imul(high, 0x9e3779b1) ^ mix(low ^ words[3]!) ^ Math.imul(kind, 0x85ebca77)) >>> 0;
}

/** Spreads the bits of a number over all 32 (the finaliser of MurmurHash3). */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
