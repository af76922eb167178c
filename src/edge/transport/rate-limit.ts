/** Rates by the peer's address (decisions, section 5). All of a node's threads count together. */

import type { Clock } from '../../core/clock.ts';
import { LIMITS } from '../../core/limits.ts';
import { RCODE } from '../wire/codes.ts';
import { u16At, u32At } from '../wire/octets.ts';
import { readAddress } from './address.ts';
import { optOfReply, truncateReply } from './options.ts';
import { RateTable } from './rate-table.ts';
import type { ReplyLimiter } from './udp.ts';

/** What is counted apart. The first four are classes of replies over UDP: one must not use up the others' share. */
const KIND = { answer: 0, nodata: 1, refused: 2, error: 3, stream: 4, https: 5 } as const;

const TC = 0x02;
/** IPv4 /24 and IPv6 /56: the first word whole or less its last octet, of the second its first three octets. */
const LESS_LAST_OCTET = 0xffff_ff00;
const IPV4_OCTETS = 4;
/** Every second reply over the limit is sent all the same, cut down: who is real asks again over TCP. */
const SLIP = 2;
const MINUTE = 60;

/** Counts a query of one peer. Milliseconds to wait before it is answered, 0: none. */
export type QueryMeter = () => number;

export interface RateLimits {
  /** Replies over UDP. */
  readonly udp: ReplyLimiter;
  /** Queries over TCP and TLS, counted together. */
  meter(address: string): QueryMeter;
  /** Requests over HTTPS. 0 lets one pass, n refuses it for n seconds. */
  admit(address: string): number;
}

export interface RateSettings {
  /** Made by `createRateMemory`. */
  readonly memory: SharedArrayBuffer;
  /** UDP replies a second of one class to one network. */
  readonly responses: number;
  readonly clock: Clock;
}

export function makeRateLimits({ memory, responses, clock }: RateSettings): RateLimits {
  const table = new RateTable(memory);
  const octets = new Uint8Array(16);
  const seconds = (): number => Math.floor(clock() / 1000);
  /** The key of a single host: an IPv4 address or an IPv6 /64, as its first and second word. */
  const low = (length: number): number => (length === IPV4_OCTETS ? 0 : u32At(octets, 4));

  return {
    udp: {
      admit(address, reply, length) {
        const isIpv4 = readAddress(address, octets) === IPV4_OCTETS;
        const high = isIpv4 ? u32At(octets, 0) & LESS_LAST_OCTET : u32At(octets, 0);
        const rest = isIpv4 ? 0 : u32At(octets, 4) & LESS_LAST_OCTET;
        const over = table.count(high, rest, responseClass(reply), seconds(), 1) - responses;
        if (over <= 0) return length;
        return over % SLIP === 0 ? truncateReply(reply, length, optOfReply(reply, length), false) : 0;
      },
    },
    meter(address) {
      const length = readAddress(address, octets);
      const high = u32At(octets, 0);
      const rest = low(length);
      return () => {
        const now = clock();
        const count = table.count(high, rest, KIND.stream, Math.floor(now / 1000), 1);
        return count <= LIMITS.streamQueriesPerSecond ? 0 : Math.max(1, table.until * 1000 - now);
      };
    },
    admit(address) {
      const length = readAddress(address, octets);
      const now = seconds();
      const count = table.count(u32At(octets, 0), low(length), KIND.https, now, MINUTE);
      return count <= LIMITS.dohRequestsPerMinute ? 0 : table.until - now;
    },
  };
}

/** Answers, empty answers, refusals, and all other errors. An answer that was cut down is an answer. */
function responseClass(reply: Uint8Array): number {
  const rcode = reply[3]! & 0x0f;
  if (rcode === RCODE.NOERROR) {
    return u16At(reply, 6) > 0 || (reply[2]! & TC) !== 0 ? KIND.answer : KIND.nodata;
  }
  return rcode === RCODE.REFUSED ? KIND.refused : KIND.error;
}
