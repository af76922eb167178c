/**
 * EDNS options that depend on the peer or the connection, and so cannot come from the handler: read from a request's OPT
 * record, written to a reply's. The reply's OPT record is its last record, which `edge/query` promises.
 */

import { LIMITS } from '../../../core/limits.ts';
import { EDNS_OPTION } from '../../wire/codes.ts';
import { isCookieLength } from '../../wire/message/edns.ts';
import { put16, u16At } from '../../wire/octets.ts';
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
} from '../../wire/skim.ts';
import { COOKIE_OCTETS } from './cookies.ts';

/**
 * What one request asks of the transport. Its fields hold until the next `read`: packets are looked at one at a time, and
 * an ordinary one must cost neither an object nor more than a walk over its question.
 */
export class RequestOptions {
  /** Octets of the COOKIE option, 0 without one, and the first 24 of them: no valid one is longer (RFC 9018 §4). */
  cookieOctets = 0;
  readonly cookie = new Uint8Array(COOKIE_OCTETS);
  /** RFC 7828: the peer wants to know how long its connection may be idle. */
  keepalive = false;
  /** RFC 7830: the peer wants the reply padded. */
  padding = false;
  /** Octets that a reply over UDP may have (RFC 6891 §6.2.3, RFC 9715). */
  udpLimit = MIN_UDP_PAYLOAD;

  /**
   * @param request a message of any form, in `request[0, length)`; what is malformed has no options
   * @returns whether there is an option among them that is answered
   */
  read(request: Uint8Array, length = request.length): boolean {
    if (length < HEADER_OCTETS) return false;
    const at =
      u16At(request, 4) === 0 ? HEADER_OCTETS : afterName(request, HEADER_OCTETS, length) + QUESTION_OCTETS;
    // Nothing follows the question, or no more than an OPT record without options: nearly every request ends here.
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
      // Only the first cookie counts (RFC 7873 §5.2). A timeout in a query has no meaning (RFC 7828 §3.1).
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
 * Appends an option to the OPT record at `opt`, which ends the message. The room is the caller's affair.
 *
 * @param octets of data, of which `data` gives those it has; the rest is zero
 * @returns the message's new length
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
 * Cuts a reply down in place to header, question and OPT record, TC set.
 *
 * @param opt offset of its OPT record, 0 without one
 * @param keepOptions whether the OPT record keeps its options, such as an extended error
 * @returns the new length; the OPT record then follows the question
 */
export function truncateReply(reply: Uint8Array, length: number, opt: number, keepOptions: boolean): number {
  let questionEnd = afterQuestion(reply, length);
  if (questionEnd < 0) {
    // Not a reply of ours: the header alone is better than half a question.
    questionEnd = HEADER_OCTETS;
    put16(reply, 4, 0);
  }
  if (opt === 0) return truncateInto(reply, reply, questionEnd, length, length);
  const octets = keepOptions ? length - opt : OPT_OCTETS;
  const end = truncateInto(reply, reply, questionEnd, opt, opt + octets);
  if (!keepOptions) put16(reply, end - OPT_OCTETS + OPT_AT.rdlength, 0);
  return end;
}
