/** Rate limits by the peer's network (docs/OPERATIONS.md). All threads of a node count together. */

import { type Random, realRandom } from '../../base/chance.ts';
import { type PeerAddress, readAddress } from '../../base/network/address.ts';
import type { Clock } from '../../base/time.ts';
import { RCODE } from '../../protocol/dns/codes.ts';
import { u16At, u32At } from '../../protocol/dns/octets.ts';
import type { Fate, ReplyLimiter } from '../udp/replies.ts';

/** Kinds of events with separate counts. The first four are classes of UDP replies. */
const KIND = { answer: 0, nodata: 1, refused: 2, error: 3, stream: 4, https: 5 } as const;

/** Any of these may be the class of a reply that is not made yet. */
const REPLY_KINDS = [KIND.answer, KIND.nodata, KIND.refused, KIND.error] as const;

const TC = 0x02;
/** Masks: IPv4 /24 is the first word without its last octet; IPv6 /56 adds three octets of the second word. */
const LESS_LAST_OCTET = 0xffff_ff00;
const IPV4_OCTETS = 4;
const IPV4_LOW = 0;
/** Every second reply over the limit is a bare TC, so that a real client retries over TCP. */
const SLIP = 2;
const MINUTE = 60;

/** Counts a query. @returns milliseconds to wait before the answer; 0: none */
export type QueryMeter = () => number;

interface RateLimits {
  readonly udp: ReplyLimiter;
  /** TCP and DoT together. */
  readonly meter: (address: string) => QueryMeter;
  /** HTTPS. @returns 0: allowed; n: refused for n seconds */
  readonly admit: (address: string) => number;
}

interface RateSettings {
  readonly memory: SharedArrayBuffer;
  /** UDP replies per second, for each class and network. */
  readonly responses: number;
  /** Queries per second over TCP and DoT, of one IPv4 address or IPv6 /64. */
  readonly streamQueries: number;
  /** HTTPS requests per minute of one. */
  readonly httpsRequests: number;
  readonly clock: Clock;
}

export function makeRateLimits({
  memory,
  responses,
  streamQueries,
  httpsRequests,
  clock,
}: RateSettings): RateLimits {
  const table = new RateTable(memory);
  const octets = new Uint8Array(16);

  /** Reads an address into `octets`. @returns whether it is IPv4; an unreadable one counts as :: */
  function isIpv4(address: PeerAddress): boolean {
    const length = readAddress(address, octets);
    if (length === 0) octets.fill(0);
    return length === IPV4_OCTETS;
  }

  const networkHigh = (ipv4: boolean): number =>
    ipv4 ? u32At(octets, 0) & LESS_LAST_OCTET : u32At(octets, 0);
  const networkLow = (ipv4: boolean): number => (ipv4 ? IPV4_LOW : u32At(octets, 4) & LESS_LAST_OCTET);

  function counted(high: number, low: number, kind: number, seconds: number): Fate {
    const over = table.count(high, low, kind, seconds, 1) - responses;
    if (over <= 0) return 'pass';
    return over % SLIP === 0 ? 'slip' : 'drop';
  }

  return {
    udp: {
      screen(address) {
        const ipv4 = isIpv4(address);
        const high = networkHigh(ipv4);
        const low = networkLow(ipv4);
        const seconds = Math.floor(clock() / 1000);
        for (const kind of REPLY_KINDS) {
          if (table.peek(high, low, kind, seconds, 1) >= responses) return counted(high, low, kind, seconds);
        }
        return 'pass';
      },
      admit(address, reply) {
        const ipv4 = isIpv4(address);
        const seconds = Math.floor(clock() / 1000);
        return counted(networkHigh(ipv4), networkLow(ipv4), responseClass(reply), seconds);
      },
    },
    meter(address) {
      const low = isIpv4(address) ? IPV4_LOW : u32At(octets, 4);
      const high = u32At(octets, 0);
      return () => {
        const now = clock();
        const second = Math.floor(now / 1000);
        const count = table.count(high, low, KIND.stream, second, 1);
        return count <= streamQueries ? 0 : Math.max(1, periodEnd(second, 1) * 1000 - now);
      };
    },
    admit(address) {
      const low = isIpv4(address) ? IPV4_LOW : u32At(octets, 4);
      const now = Math.floor(clock() / 1000);
      const count = table.count(u32At(octets, 0), low, KIND.https, now, MINUTE);
      return count <= httpsRequests ? 0 : periodEnd(now, MINUTE) - now;
    },
  };
}

/** A truncated answer counts as an answer. */
function responseClass(reply: Uint8Array): number {
  const rcode = reply[3]! & 0x0f;
  if (rcode === RCODE.NOERROR) {
    return u16At(reply, 6) > 0 || (reply[2]! & TC) !== 0 ? KIND.answer : KIND.nodata;
  }
  return rcode === RCODE.REFUSED ? KIND.refused : KIND.error;
}

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
export function createRateMemory(sets = SETS, random: Random = realRandom): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((HEAD + sets * WAYS * CELL) * WORD_OCTETS);
  new Uint8Array(memory, 0, HEAD * WORD_OCTETS).set(random(HEAD * WORD_OCTETS));
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
