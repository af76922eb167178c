/** Server cookies (RFC 7873, RFC 9018): proof that a client receives what is sent to its address. */

import { type PeerAddress, readAddress } from '../../base/network/address.ts';
import type { Clock } from '../../base/time.ts';
import { u32At } from '../../protocol/dns/octets.ts';

export const COOKIE_OCTETS = 24;

const CLIENT_OCTETS = 8;
const VERSION = 1;
const TIMESTAMP_AT = 12;
/** The hash covers the address and these octets. */
const HASH_AT = 16;
const ADDRESS_OCTETS = 16;

/** RFC 9018 §4.3, seconds. */
const AGE_MAX = 3600;
const AHEAD_MAX = 300;
const RENEWED_AFTER = 1800;

const DAY_MS = 86_400_000;

/** A secret serves for one day and is accepted for one more (RFC 7873 §7.1). A cookie is valid for one hour. */
export class ServerCookies {
  /** The reply's cookie. The next `check` overwrites it. */
  readonly response = new Uint8Array(COOKIE_OCTETS);
  readonly #secretOf: (day: number) => Uint8Array;
  readonly #clock: Clock;
  readonly #message = new Uint8Array(HASH_AT + ADDRESS_OCTETS);
  readonly #address = new Uint8Array(ADDRESS_OCTETS);
  #day = Number.NaN;
  #current!: SipHash;
  #previous!: SipHash;

  /** @param secretOf 16 secret octets for a day since the epoch, equal on all servers of one address */
  constructor(secretOf: (day: number) => Uint8Array, clock: Clock) {
    this.#secretOf = secretOf;
    this.#clock = clock;
    this.#keep(Math.floor(clock() / DAY_MS));
  }

  /** Asks for the secrets again: they may be others now. */
  renew(): void {
    this.#keep(Math.floor(this.#clock() / DAY_MS));
  }

  /**
   * Checks the content of a COOKIE option and fills `response`.
   * @param cookie at least its first 24 octets, or all of it
   * @param octets length of the option
   * @returns whether the client proved its address with a server cookie of ours that is still valid
   */
  check(cookie: Uint8Array, octets: number, address: PeerAddress): boolean {
    const now = this.#clock();
    const day = Math.floor(now / DAY_MS);
    if (day !== this.#day) this.#keep(day);
    const seconds = Math.floor(now / 1000);
    const addressOctets = readAddress(address, this.#address);
    const length = HASH_AT + addressOctets;
    this.#message.set(this.#address, HASH_AT);
    for (let i = 0; i < CLIENT_OCTETS; i++) this.#message[i] = cookie[i]!;

    let proven = false;
    if (octets === COOKIE_OCTETS && cookie[CLIENT_OCTETS] === VERSION && addressOctets > 0) {
      // Serial number arithmetic (RFC 1982): the 32 bits wrap in 2106.
      const age = (seconds - u32At(cookie, TIMESTAMP_AT)) | 0;
      if (age <= AGE_MAX && age >= -AHEAD_MAX) {
        // The reserved octets are hashed as received (RFC 9018 §4.2).
        for (let i = CLIENT_OCTETS; i < HASH_AT; i++) this.#message[i] = cookie[i]!;
        const current = this.#made(this.#current, length, cookie);
        if (current && age <= RENEWED_AFTER) {
          this.response.set(cookie.length === COOKIE_OCTETS ? cookie : cookie.subarray(0, COOKIE_OCTETS));
          return true;
        }
        proven = current || this.#made(this.#previous, length, cookie);
      }
    }
    this.#make(length, seconds);
    return proven;
  }

  #keep(day: number): void {
    this.#day = day;
    this.#current = new SipHash(this.#secretOf(day));
    this.#previous = new SipHash(this.#secretOf(day - 1));
  }

  /** Compares the whole hash, in constant time. */
  #made(key: SipHash, length: number, cookie: Uint8Array): boolean {
    key.hash(this.#message, length);
    const low = key.low ^ wordAt(cookie, HASH_AT);
    const high = key.high ^ wordAt(cookie, HASH_AT + 4);
    return (low | high) === 0;
  }

  #make(length: number, seconds: number): void {
    const message = this.#message;
    message[CLIENT_OCTETS] = VERSION;
    message.fill(0, CLIENT_OCTETS + 1, TIMESTAMP_AT);
    for (let i = 0; i < 4; i++) message[TIMESTAMP_AT + i] = seconds >>> (24 - 8 * i);
    this.#current.hash(message, length);
    const { response } = this;
    for (let i = 0; i < HASH_AT; i++) response[i] = message[i]!;
    putWord(response, HASH_AT, this.#current.low);
    putWord(response, HASH_AT + 4, this.#current.high);
  }
}

/** Little-endian, as SipHash counts. */
function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

function putWord(bytes: Uint8Array, at: number, value: number): void {
  for (let i = 0; i < 4; i++) bytes[at + i] = value >>> (8 * i);
}

const KEY_OCTETS = 16;
const WORD_OCTETS = 8;
const COMPRESSION_ROUNDS = 2;
const FINAL_ROUNDS = 4;

/** SipHash-2-4 (RFC 9018 §4.4). 64-bit numbers are two 32-bit halves, because each BigInt operation allocates. */
export class SipHash {
  /** The last hash. On the wire: `low`, then `high`, each little-endian. */
  low = 0;
  high = 0;
  readonly #k0: number;
  readonly #k1: number;
  readonly #k2: number;
  readonly #k3: number;

  constructor(key: Uint8Array) {
    if (key.length !== KEY_OCTETS) throw new RangeError('a SipHash key has 16 octets');
    this.#k0 = word(key, 0);
    this.#k1 = word(key, 4);
    this.#k2 = word(key, 8);
    this.#k3 = word(key, 12);
  }

  hash(message: Uint8Array, length: number): void {
    // State v0 to v3: low half (a) and high half (b).
    let a0 = this.#k0 ^ 0x70736575;
    let b0 = this.#k1 ^ 0x736f6d65;
    let a1 = this.#k2 ^ 0x6e646f6d;
    let b1 = this.#k3 ^ 0x646f7261;
    let a2 = this.#k0 ^ 0x6e657261;
    let b2 = this.#k1 ^ 0x6c796765;
    let a3 = this.#k2 ^ 0x79746573;
    let b3 = this.#k3 ^ 0x74656462;

    const words = Math.floor(length / WORD_OCTETS);
    // Whole words, then the last word with the length in its top octet, then the final rounds.
    for (let index = 0; index <= words + 1; index++) {
      const at = index * WORD_OCTETS;
      let low = 0;
      let high = 0;
      let rounds = COMPRESSION_ROUNDS;
      if (index < words) {
        low = word(message, at);
        high = word(message, at + 4);
      } else if (index === words) {
        low = tail(message, at, length);
        high = tail(message, at + 4, length) | (length << 24);
      } else {
        a2 ^= 0xff;
        rounds = FINAL_ROUNDS;
      }
      a3 ^= low;
      b3 ^= high;
      for (; rounds > 0; rounds--) {
        let t: number;
        // v0 += v1; v1 <<<= 13; v1 ^= v0; v0 <<<= 32
        t = (a0 + a1) | 0;
        b0 = (b0 + b1 + (t >>> 0 < a0 >>> 0 ? 1 : 0)) | 0;
        a0 = t;
        t = (a1 << 13) | (b1 >>> 19);
        b1 = ((b1 << 13) | (a1 >>> 19)) ^ b0;
        a1 = t ^ a0;
        t = a0;
        a0 = b0;
        b0 = t;
        // v2 += v3; v3 <<<= 16; v3 ^= v2
        t = (a2 + a3) | 0;
        b2 = (b2 + b3 + (t >>> 0 < a2 >>> 0 ? 1 : 0)) | 0;
        a2 = t;
        t = (a3 << 16) | (b3 >>> 16);
        b3 = ((b3 << 16) | (a3 >>> 16)) ^ b2;
        a3 = t ^ a2;
        // v0 += v3; v3 <<<= 21; v3 ^= v0
        t = (a0 + a3) | 0;
        b0 = (b0 + b3 + (t >>> 0 < a0 >>> 0 ? 1 : 0)) | 0;
        a0 = t;
        t = (a3 << 21) | (b3 >>> 11);
        b3 = ((b3 << 21) | (a3 >>> 11)) ^ b0;
        a3 = t ^ a0;
        // v2 += v1; v1 <<<= 17; v1 ^= v2; v2 <<<= 32
        t = (a2 + a1) | 0;
        b2 = (b2 + b1 + (t >>> 0 < a2 >>> 0 ? 1 : 0)) | 0;
        a2 = t;
        t = (a1 << 17) | (b1 >>> 15);
        b1 = ((b1 << 17) | (a1 >>> 15)) ^ b2;
        a1 = t ^ a2;
        t = a2;
        a2 = b2;
        b2 = t;
      }
      a0 ^= low;
      b0 ^= high;
    }
    this.low = a0 ^ a1 ^ a2 ^ a3;
    this.high = b0 ^ b1 ^ b2 ^ b3;
  }
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** Little-endian; missing octets count as zero. */
function tail(bytes: Uint8Array, at: number, end: number): number {
  let value = 0;
  for (let i = at; i < end && i < at + 4; i++) value |= bytes[i]! << ((i - at) * 8);
  return value;
}
