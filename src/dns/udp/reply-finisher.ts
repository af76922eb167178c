/** Rate limit, EDNS options and counts of replies, for both UDP listeners. */

import type { PeerAddress } from '../../base/network/address.ts';
import { optOfReply } from '../../protocol/dns/skim.ts';
import { ReplyDecorator } from '../edns/decorator.ts';
import { truncateReply } from '../edns/options.ts';
import { writeSlip } from '../rate-limit/slip.ts';
import { headerRcode, type ListenOptions } from '../shared/listener.ts';

/** Decision for an unproven address: send whole, truncate (TC), or drop. */
export type Fate = 'pass' | 'slip' | 'drop';

/** Response rate limiting. Each query counts once: in `screen` if that refuses it, else in `admit`. */
export interface ReplyLimiter {
  /** Called before work on a reply. Counts only if the network is over its limit in a class the reply could have. */
  screen(address: PeerAddress): Fate;
  admit(address: PeerAddress, reply: Uint8Array): Fate;
}

export interface UdpOptions extends ListenOptions {
  readonly limiter?: ReplyLimiter | null;
  /** Maximum queries that wait for a service; further ones are dropped. */
  readonly inFlight?: number;
}

/** Octets of a UDP reply before truncation. */
export const UDP_OCTETS = 4096;

/** Results of `screen`: ask the handler; the address is proven or not. */
export const UNPROVEN = -1;
export const PROVEN = -2;

export class ReplyFinisher {
  readonly #options: UdpOptions;
  readonly #limiter: ReplyLimiter | null;
  readonly #decorator: ReplyDecorator;

  constructor(options: UdpOptions) {
    this.#options = options;
    this.#limiter = options.limiter ?? null;
    this.#decorator = new ReplyDecorator('udp', { cookies: options.cookies ?? null });
  }

  /**
   * Checks a query before the handler works: a signature costs far more than the reply that the limiter would drop.
   * @returns octets of a reply in `out` to send now; 0: no reply; UNPROVEN or PROVEN: ask the handler
   */
  screen(query: Uint8Array, queryLength: number, address: PeerAddress, out: Uint8Array): number {
    const decorator = this.#decorator;
    const asked = decorator.read(query, queryLength);
    if (asked && decorator.prove(address)) return PROVEN;
    const fate = this.#limiter?.screen(address) ?? 'pass';
    if (fate === 'pass') return UNPROVEN;
    const { observe } = this.#options;
    const length = fate === 'slip' ? writeSlip(query, queryLength, out) : 0;
    observe.limited(length === 0 ? 'dropped' : 'slipped');
    if (length === 0) return 0;
    const octets = asked ? decorator.apply(out, length) : length;
    observe.reply('udp', octets, headerRcode(out), 0);
    return octets;
  }

  /** Changes `reply[0, length)` in place; it may grow. @param seconds since the query @returns octets to send, 0: none */
  finish(
    query: Uint8Array,
    queryLength: number,
    address: PeerAddress,
    reply: Uint8Array,
    length: number,
    seconds: number,
  ): number {
    const decorator = this.#decorator;
    const { observe } = this.#options;
    const asked = decorator.read(query, queryLength);
    // A valid server cookie exempts: a forger would not have received it.
    const isProven = asked && decorator.prove(address);
    let octets = length;
    if (this.#limiter !== null && !isProven) {
      const fate = this.#limiter.admit(address, reply);
      if (fate === 'drop') {
        observe.limited('dropped');
        return 0;
      }
      if (fate === 'slip') {
        observe.limited('slipped');
        octets = truncateReply(reply, length, optOfReply(reply, length), false);
      }
    }
    if (asked) octets = decorator.apply(reply, octets);
    observe.reply('udp', octets, headerRcode(reply), seconds);
    return octets;
  }
}
