/** Rate limits by the peer's network (docs/OPERATIONS.md). All threads of a node count together. */

import type { Clock } from '../../base/clock.ts';
import { LIMITS } from '../../base/limits.ts';
import { type PeerAddress, readAddress } from '../../base/network/address.ts';
import { RCODE } from '../../protocol/dns/codes.ts';
import { u16At, u32At } from '../../protocol/dns/octets.ts';
import type { Fate, ReplyLimiter } from '../udp/reply-finisher.ts';
import { periodEnd, RateTable } from './rate-table.ts';

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

export interface RateLimits {
  readonly udp: ReplyLimiter;
  /** TCP and DoT together. */
  readonly meter: (address: string) => QueryMeter;
  /** HTTPS. @returns 0: allowed; n: refused for n seconds */
  readonly admit: (address: string) => number;
}

export interface RateSettings {
  readonly memory: SharedArrayBuffer;
  /** UDP replies per second, for each class and network. */
  readonly responses: number;
  readonly clock: Clock;
}

export function makeRateLimits({ memory, responses, clock }: RateSettings): RateLimits {
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
        return count <= LIMITS.streamQueriesPerSecond ? 0 : Math.max(1, periodEnd(second, 1) * 1000 - now);
      };
    },
    admit(address) {
      const low = isIpv4(address) ? IPV4_LOW : u32At(octets, 4);
      const now = Math.floor(clock() / 1000);
      const count = table.count(u32At(octets, 0), low, KIND.https, now, MINUTE);
      return count <= LIMITS.dohRequestsPerMinute ? 0 : periodEnd(now, MINUTE) - now;
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
