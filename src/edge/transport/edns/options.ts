/**
 * EDNS options that depend on the peer or the connection, and so cannot come from the handler: read from a request's OPT
 * record, written to a reply's. The reply's OPT record is its last record, which `edge/query` promises.
 */

import { LIMITS } from '../../../core/limits.ts';
import { EDNS_OPTION, RRTYPE } from '../../wire/codes.ts';
import { isCookieLength } from '../../wire/message/edns.ts';
import { u16At } from '../../wire/octets.ts';
import { COOKIE_OCTETS } from './cookies.ts';

const HEADER_OCTETS = 12;
/** Type and class after the name of a question. */
const QUESTION_OCTETS = 4;
/** Type, class, TTL and length after the owner of a record (RFC 1035 §4.1.3). */
const RECORD_OCTETS = 10;
/** An OPT record without options (RFC 6891 §6.1.2). */
const OPT_OCTETS = 11;
/** Offsets in it. */
const PAYLOAD_AT = 3;
const VERSION_AT = 6;
const RDLENGTH_AT = 9;
export const OPTION_HEADER_OCTETS = 4;
/** RFC 6891 §6.2.3. */
const MIN_PAYLOAD = 512;
const POINTER = 0xc0;
const LABEL_MAX = 63;
const TC = 0x02;

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
  udpLimit = MIN_PAYLOAD;

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
    return opt > 0 && request[opt + VERSION_AT] === 0 && this.#readOptions(request, opt);
  }

  #readOptions(request: Uint8Array, opt: number): boolean {
    this.cookieOctets = 0;
    this.keepalive = false;
    this.padding = false;
    const payload = u16At(request, opt + PAYLOAD_AT);
    this.udpLimit = Math.max(MIN_PAYLOAD, Math.min(payload, LIMITS.udpPayload));
    const end = opt + OPT_OCTETS + u16At(request, opt + RDLENGTH_AT);
    for (let at = opt + OPT_OCTETS; at < end; ) {
      const dataAt = at + OPTION_HEADER_OCTETS;
      if (dataAt > end) return false;
      const octets = u16At(request, at + 2);
      if (dataAt + octets > end) return false;
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
      at = dataAt + octets;
    }
    return this.cookieOctets > 0 || this.keepalive || this.padding;
  }

  #keepCookie(request: Uint8Array, at: number, octets: number): void {
    this.cookieOctets = octets;
    for (let i = 0; i < octets && i < COOKIE_OCTETS; i++) this.cookie[i] = request[at + i]!;
  }
}

/**
 * The offset of the one OPT record of `request[0, length)`, or 0: there is none, there are two, or the records do not end
 * with the message.
 *
 * @param first offset of the first record after the question
 */
export function optOfRequest(request: Uint8Array, first: number, length: number): number {
  let at = first;
  let opt = 0;
  for (let left = u16At(request, 8) + u16At(request, 10); left > 0; left--) {
    const typeAt = afterName(request, at, length);
    if (typeAt < 0 || typeAt + RECORD_OCTETS > length) return 0;
    if (u16At(request, typeAt) === RRTYPE.OPT) {
      if (opt > 0 || request[at] !== 0) return 0;
      opt = at;
    }
    at = typeAt + RECORD_OCTETS + u16At(request, typeAt + 8);
  }
  return at === length ? opt : 0;
}

/** The offset of the OPT record of `reply[0, length)`, or 0: it has none, or something else comes last. */
export function optOfReply(reply: Uint8Array, length: number): number {
  const additional = u16At(reply, 10);
  if (additional === 0) return 0;
  let at = HEADER_OCTETS;
  if (u16At(reply, 4) > 0) at = afterName(reply, at, length) + QUESTION_OCTETS;
  for (let left = u16At(reply, 6) + u16At(reply, 8) + additional - 1; left > 0 && at > 0; left--) {
    const typeAt = afterName(reply, at, length);
    if (typeAt < 0 || typeAt + RECORD_OCTETS > length) return 0;
    at = typeAt + RECORD_OCTETS + u16At(reply, typeAt + 8);
  }
  if (at < HEADER_OCTETS || at + OPT_OCTETS > length || reply[at] !== 0) return 0;
  const isLast = at + OPT_OCTETS + u16At(reply, at + RDLENGTH_AT) === length;
  return isLast && u16At(reply, at + 1) === RRTYPE.OPT ? at : 0;
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
  put16(reply, opt + RDLENGTH_AT, end - opt - OPT_OCTETS);
  return end;
}

/**
 * Cuts a reply down in place to header, question and OPT record, TC set (RFC 2181 §9: never part of an rrset).
 *
 * @param opt offset of its OPT record, 0 without one
 * @param keepOptions whether the OPT record keeps what it holds, an extended error say
 * @returns the new length; the OPT record then follows the question
 */
export function truncateReply(reply: Uint8Array, length: number, opt: number, keepOptions: boolean): number {
  let end = HEADER_OCTETS;
  if (u16At(reply, 4) > 0) end = afterName(reply, end, length) + QUESTION_OCTETS;
  // Not a reply of ours: better the header alone than half a question.
  if (end < HEADER_OCTETS || end > length) end = HEADER_OCTETS;
  if (end === HEADER_OCTETS) put16(reply, 4, 0);
  reply[2]! |= TC;
  reply.fill(0, 6, HEADER_OCTETS);
  if (opt === 0) return end;
  reply[11] = 1;
  const octets = keepOptions ? length - opt : OPT_OCTETS;
  reply.copyWithin(end, opt, opt + octets);
  if (!keepOptions) put16(reply, end + RDLENGTH_AT, 0);
  return end + octets;
}

export function put16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

/** The offset after the one question of `message[0, length)`, or a negative number: it has another count, or does not end. */
export function afterQuestion(message: Uint8Array, length: number): number {
  if (length < HEADER_OCTETS || u16At(message, 4) !== 1) return -1;
  const at = afterName(message, HEADER_OCTETS, length) + QUESTION_OCTETS;
  return at > HEADER_OCTETS && at <= length ? at : -1;
}

/** The offset after a name, whose pointer, if it ends in one, is not followed; negative when it does not end. */
function afterName(bytes: Uint8Array, offset: number, end: number): number {
  let at = offset;
  while (at < end) {
    const octets = bytes[at]!;
    if (octets === 0) return at + 1;
    if (octets >= POINTER) return at + 2;
    if (octets > LABEL_MAX) break;
    at += octets + 1;
  }
  return -HEADER_OCTETS;
}
