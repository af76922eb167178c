/** What both listeners for UDP do with a reply before it leaves: rate limit, EDNS options, counts. */

import type { PeerAddress } from '../../../core/address.ts';
import { optOfReply } from '../../wire/skim.ts';
import { ReplyDecorator } from '../edns/decorator.ts';
import { truncateReply } from '../edns/options.ts';
import { writeSlip } from '../rate-limit/slip.ts';
import { headerRcode, type ListenOptions } from '../shared/listener.ts';

/** What becomes of a reply to an unproven address: it leaves whole, it leaves cut down (TC), or it does not leave. */
export type Fate = 'pass' | 'slip' | 'drop';

/** Response rate limiting. Each query is counted once: by `screen` when that does not let it pass, else by `admit`. */
export interface ReplyLimiter {
  /**
   * Asked before any work is done for a reply. Counts nothing while the network is below its limit in every class that the reply
   * could be in; when one is spent, it counts the query there and decides.
   */
  screen(address: PeerAddress): Fate;
  /** Counts a finished reply in its class, and decides. */
  admit(address: PeerAddress, reply: Uint8Array): Fate;
}

export interface UdpOptions extends ListenOptions {
  readonly limiter?: ReplyLimiter | null;
  /** Queries waiting for a service at one time; above it further ones are dropped, as a full receive buffer would. */
  readonly inFlight?: number;
}

/** Memory for one UDP reply, before it is cut to the client's limit. */
export const UDP_OCTETS = 4096;

/** What `screen` says of a query that is to be answered, and whether its address is proven. */
export const UNPROVEN = -1;
export const PROVEN = -2;

/** Applies limiter and options to replies, and counts what is to leave. */
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
   * Decides about a query that the packet cache does not answer, before the handler works for it: a signature costs far
   * more than the reply that the limiter would then drop.
   *
   * @param query in `query[0, queryLength)`
   * @param out takes the reply if there is one already
   * @returns octets of a reply in `out` that is to leave now, 0 for silence; UNPROVEN or PROVEN: ask the handler
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

  /**
   * @param query in `query[0, queryLength)`
   * @param reply in `reply[0, length)`; changed in place, and it may become longer
   * @param seconds since the query came
   * @returns octets to send, 0: none
   */
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
