/** Reads the EDNS options of a request and appends those of a reply, whose OPT record is last (`edge/query` ensures it). */

import { LIMITS } from '../../base/limits.ts';
import { EDNS_OPTION } from '../../protocol/dns/codes.ts';
import { isCookieLength } from '../../protocol/dns/message/edns.ts';
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
  optOfRequest,
  QUESTION_OCTETS,
  truncateInto,
  udpLimit,
} from '../../protocol/dns/skim.ts';
import { COOKIE_OCTETS } from './cookies.ts';

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
