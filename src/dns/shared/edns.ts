/** Adds the EDNS options of the peer and the connection to finished replies. */

import { LIMITS } from '../../base/limits.ts';
import type { PeerAddress } from '../../base/network/address.ts';
import type { Transport } from '../../base/network/transport.ts';
import { EDNS_OPTION } from '../../protocol/dns/codes.ts';
import { isCookieLength, paddingLength } from '../../protocol/dns/message/edns.ts';
import { put16, u16At } from '../../protocol/dns/octets.ts';
import {
  afterName,
  afterOption,
  afterQuestion,
  HEADER_OCTETS,
  MIN_UDP_PAYLOAD,
  OPT_AT,
  OPT_OCTETS,
  OPTION_HEADER_OCTETS,
  optOfReply,
  optOfRequest,
  QUESTION_OCTETS,
  truncateInto,
  udpLimit,
} from '../../protocol/dns/skim.ts';
import { COOKIE_OCTETS, type ServerCookies } from './cookies.ts';

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

interface DecoratorSettings {
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

/** Reads the EDNS options of a request and appends those of a reply, whose OPT record is last (`dns/query` ensures it). */

/** The options of the last request read: one object for all packets, so a packet allocates nothing. */
export class RequestOptions {
  /** Octets of the COOKIE option (0: none) and the first 24 of them, the longest valid cookie (RFC 9018 §4). */
  cookieOctets = 0;
  readonly cookie = new Uint8Array(COOKIE_OCTETS);
  /** TCP keepalive requested (RFC 7828). */
  keepalive = false;
  /** Padding requested (RFC 7830). */
  padding = false;
  /** Maximum octets of a UDP reply (RFC 6891 §6.2.3, RFC 9715). */
  udpLimit = MIN_UDP_PAYLOAD;

  /** @param request any octets; a malformed message has no options @returns whether an option needs an answer */
  read(request: Uint8Array, length = request.length): boolean {
    if (length < HEADER_OCTETS) return false;
    const at =
      u16At(request, 4) === 0 ? HEADER_OCTETS : afterName(request, HEADER_OCTETS, length) + QUESTION_OCTETS;
    // The fast path: no OPT record, or one without options.
    if (at < HEADER_OCTETS || length - at < OPT_OCTETS + OPTION_HEADER_OCTETS) return false;
    const opt = optOfRequest(request, at, length);
    return opt > 0 && request[opt + OPT_AT.version] === 0 && this.#readOptions(request, opt);
  }

  #readOptions(request: Uint8Array, opt: number): boolean {
    this.cookieOctets = 0;
    this.keepalive = false;
    this.padding = false;
    this.udpLimit = udpLimit(u16At(request, opt + OPT_AT.payload), LIMITS.udpPayload);
    const end = opt + OPT_OCTETS + u16At(request, opt + OPT_AT.rdlength);
    for (let at = opt + OPT_OCTETS; at < end; ) {
      const next = afterOption(request, at, end);
      if (next < 0) return false;
      const dataAt = at + OPTION_HEADER_OCTETS;
      const octets = next - dataAt;
      const code = u16At(request, at);
      // The first cookie counts (RFC 7873 §5.2). A timeout in a query is ignored (RFC 7828 §3.1).
      if (code === EDNS_OPTION.COOKIE && this.cookieOctets === 0) {
        if (!isCookieLength(octets)) return false;
        this.#keepCookie(request, dataAt, octets);
      } else if (code === EDNS_OPTION.KEEPALIVE && octets === 0) {
        this.keepalive = true;
      } else if (code === EDNS_OPTION.PADDING) {
        this.padding = true;
      }
      at = next;
    }
    return this.cookieOctets > 0 || this.keepalive || this.padding;
  }

  #keepCookie(request: Uint8Array, at: number, octets: number): void {
    this.cookieOctets = octets;
    for (let i = 0; i < octets && i < COOKIE_OCTETS; i++) this.cookie[i] = request[at + i]!;
  }
}

/**
 * Appends an option to the OPT record at `opt`, which ends the message. The caller checks that it fits.
 * @param octets of data: `data` first, then zeros
 * @returns the new length of the message
 */
export function appendOption(
  reply: Uint8Array,
  length: number,
  opt: number,
  code: number,
  octets: number,
  data: Uint8Array | null,
): number {
  put16(reply, length, code);
  put16(reply, length + 2, octets);
  const dataAt = length + OPTION_HEADER_OCTETS;
  const end = dataAt + octets;
  if (data === null) reply.fill(0, dataAt, end);
  else for (let i = 0; i < octets; i++) reply[dataAt + i] = data[i]!;
  put16(reply, opt + OPT_AT.rdlength, end - opt - OPT_OCTETS);
  return end;
}

/**
 * Truncates a reply in place to header, question and OPT record, and sets TC.
 * @param opt offset of its OPT record, 0 without one
 * @param keepOptions whether the OPT record keeps options such as an extended error
 * @returns the new length
 */
export function truncateReply(reply: Uint8Array, length: number, opt: number, keepOptions: boolean): number {
  let questionEnd = afterQuestion(reply, length);
  if (questionEnd < 0) {
    // Not a reply of ours: keep the header alone.
    questionEnd = HEADER_OCTETS;
    put16(reply, 4, 0);
  }
  if (opt === 0) return truncateInto(reply, reply, questionEnd, length, length);
  const octets = keepOptions ? length - opt : OPT_OCTETS;
  const end = truncateInto(reply, reply, questionEnd, opt, opt + octets);
  if (!keepOptions) put16(reply, end - OPT_OCTETS + OPT_AT.rdlength, 0);
  return end;
}
