/** Server cookies (RFC 7873, RFC 9018): proof that a client receives what is sent to its address. */

import type { Clock } from '../../base/clock.ts';
import { type PeerAddress, readAddress } from '../../base/network/address.ts';
import { u32At } from '../../protocol/dns/octets.ts';
import { SipHash } from './siphash.ts';

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
