/** Adds the EDNS options of the peer and the connection to finished replies. */

import { LIMITS } from '../../base/limits.ts';
import type { PeerAddress } from '../../base/network/address.ts';
import type { Transport } from '../../base/network/transport.ts';
import { EDNS_OPTION } from '../../protocol/dns/codes.ts';
import { paddingLength } from '../../protocol/dns/message/edns.ts';
import { OPTION_HEADER_OCTETS, optOfReply } from '../../protocol/dns/skim.ts';
import { COOKIE_OCTETS, type ServerCookies } from './cookies.ts';
import { appendOption, RequestOptions, truncateReply } from './options.ts';

interface Habits {
  /** TCP keepalive: never over UDP (RFC 7828 §3). */
  readonly keepalive: boolean;
  /** Padding: only where the transport is encrypted (RFC 7830 §6). */
  readonly padding: boolean;
}

const HABITS: Readonly<Record<Transport, Habits>> = {
  udp: { keepalive: false, padding: false },
  tcp: { keepalive: true, padding: false },
  dot: { keepalive: true, padding: true },
  doh: { keepalive: false, padding: true },
};

/** RFC 8467 §4.1: length of padded replies is a multiple of this. */
const PADDING_BLOCK = 468;
const TIMEOUT_OCTETS = 2;
/** Units of 100 ms, 16 bits. */
const TIMEOUT_UNIT_MS = 100;
const TIMEOUT_MAX = 0xffff;

export interface DecoratorSettings {
  /** Null: cookies are ignored. */
  readonly cookies: ServerCookies | null;
  /** Current idle time of a connection, milliseconds. For TCP and DoT. */
  readonly idleMs?: () => number;
}

/** For each query call `read`, then `finish` in the same tick if `read` returns true. Only the last query is kept. */
export class ReplyDecorator {
  readonly #asked = new RequestOptions();
  readonly #cookies: ServerCookies | null;
  readonly #idleMs: () => number;
  readonly #habits: Habits;
  readonly #isUdp: boolean;
  readonly #timeout = new Uint8Array(TIMEOUT_OCTETS);

  constructor(transport: Transport, settings: DecoratorSettings) {
    this.#cookies = settings.cookies;
    this.#idleMs = settings.idleMs ?? (() => 0);
    this.#habits = HABITS[transport];
    this.#isUdp = transport === 'udp';
  }

  /** @returns whether the reply to `request[0, length)` needs `finish` */
  read(request: Uint8Array, length = request.length): boolean {
    return this.#asked.read(request, length);
  }

  /** Checks the cookie. @returns whether the peer proved its address */
  prove(address: PeerAddress): boolean {
    const { cookie, cookieOctets } = this.#asked;
    return cookieOctets > 0 && this.#cookies !== null && this.#cookies.check(cookie, cookieOctets, address);
  }

  finish(address: PeerAddress, reply: Uint8Array, length: number): number {
    this.prove(address);
    return this.apply(reply, length);
  }

  /**
   * Adds the options, after `prove`. A UDP reply that the cookie makes too long is truncated; a stream omits the option.
   * @param reply the message is `reply[0, length)`, its OPT record last; the buffer needs room for more
   * @returns the new length
   */
  apply(reply: Uint8Array, length: number): number {
    let opt = optOfReply(reply, length);
    if (opt === 0) return length;
    const asked = this.#asked;
    const limit = this.#isUdp ? asked.udpLimit : Math.min(reply.length, LIMITS.dnsMessage);
    let end = length;
    if (asked.cookieOctets > 0 && this.#cookies !== null) {
      const fits = end + OPTION_HEADER_OCTETS + COOKIE_OCTETS <= limit;
      if (!fits && this.#isUdp) {
        const options = end - opt;
        end = truncateReply(reply, end, opt, true);
        opt = end - options;
      }
      if (fits || this.#isUdp) {
        end = appendOption(reply, end, opt, EDNS_OPTION.COOKIE, COOKIE_OCTETS, this.#cookies.response);
      }
    }
    if (asked.keepalive && this.#habits.keepalive) end = this.#addTimeout(reply, end, opt, limit);
    // Padding comes last: its length depends on all octets before it.
    if (asked.padding && this.#habits.padding) end = addPadding(reply, end, opt, limit);
    return end;
  }

  #addTimeout(reply: Uint8Array, length: number, opt: number, limit: number): number {
    if (length + OPTION_HEADER_OCTETS + TIMEOUT_OCTETS > limit) return length;
    const units = Math.min(TIMEOUT_MAX, Math.floor(this.#idleMs() / TIMEOUT_UNIT_MS));
    this.#timeout[0] = units >>> 8;
    this.#timeout[1] = units;
    return appendOption(reply, length, opt, EDNS_OPTION.KEEPALIVE, TIMEOUT_OCTETS, this.#timeout);
  }
}

/** Pads to a multiple of the block, or to the space left. */
function addPadding(reply: Uint8Array, length: number, opt: number, limit: number): number {
  const room = limit - length - OPTION_HEADER_OCTETS;
  if (room < 0) return length;
  const octets = Math.min(room, paddingLength(length, PADDING_BLOCK));
  return appendOption(reply, length, opt, EDNS_OPTION.PADDING, octets, null);
}
