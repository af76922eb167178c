/**
 * Finds positions in a message without decoding it; never allocates or throws. Names are skipped, not checked, and a
 * pointer ends a name. Use `skipName` (name.ts) where a malformed name must be refused.
 */

import { RRTYPE } from './codes.ts';
import { u16At } from './octets.ts';

/** Size of the header (RFC 1035 §4.1.1). */
export const HEADER_OCTETS = 12;
/** Type and class of a question. */
export const QUESTION_OCTETS = 4;
/** Type, class, TTL and length after the owner of a record (RFC 1035 §4.1.3). */
export const RECORD_OCTETS = 10;
/** An OPT record without options (RFC 6891 §6.1.2). */
export const OPT_OCTETS = 11;
/** Offsets in an OPT record, from its owner. */
export const OPT_AT = { payload: 3, version: 6, flags: 7, rdlength: 9 } as const;
/** Code and length of an option (RFC 6891 §6.1.2). */
export const OPTION_HEADER_OCTETS = 4;
/** UDP payload that every client accepts (RFC 1035 §4.2.1, RFC 6891 §6.2.3). */
export const MIN_UDP_PAYLOAD = 512;
/** In the third octet of the header. */
export const TC_BIT = 0x02;

const POINTER = 0xc0;
const LABEL_MAX = 63;

/** The offset after the name, or a negative number when the name does not end before `end`. */
export function afterName(bytes: Uint8Array, offset: number, end: number): number {
  let at = offset;
  while (at < end) {
    const octets = bytes[at]!;
    if (octets === 0) return at + 1;
    if (octets >= POINTER) return at + 2;
    if (octets > LABEL_MAX) break;
    at += octets + 1;
  }
  // Still negative after the fixed fields of a question or record are added.
  return -HEADER_OCTETS;
}

/** The offset after the question. Negative when QDCOUNT is not 1 or the question is cut short. */
export function afterQuestion(message: Uint8Array, length: number): number {
  if (length < HEADER_OCTETS || u16At(message, 4) !== 1) return -1;
  const at = afterName(message, HEADER_OCTETS, length) + QUESTION_OCTETS;
  return at > HEADER_OCTETS && at <= length ? at : -1;
}

/** The offset after the option at `at`, or -1 when it ends after `end`. */
export function afterOption(bytes: Uint8Array, at: number, end: number): number {
  const dataAt = at + OPTION_HEADER_OCTETS;
  if (dataAt > end) return -1;
  const next = dataAt + u16At(bytes, at + 2);
  return next > end ? -1 : next;
}

export function isOptBetween(bytes: Uint8Array, at: number, end: number): boolean {
  if (at + OPT_OCTETS > end || bytes[at] !== 0 || u16At(bytes, at + 1) !== RRTYPE.OPT) return false;
  return at + OPT_OCTETS + u16At(bytes, at + OPT_AT.rdlength) === end;
}

/**
 * The offset of the only OPT record of a request. 0: none, two, or the records do not end with the message. `first`:
 * offset after the question.
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

/** The offset of the OPT record of a reply. 0: none, or it is not the last record. */
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
  return at >= HEADER_OCTETS && isOptBetween(reply, at, length) ? at : 0;
}

/** Largest UDP reply in octets (RFC 6891 §6.2.3, RFC 9715). `payload`: the client's, null without EDNS. `most`: ours. */
export function udpLimit(payload: number | null, most: number): number {
  return payload === null || payload < MIN_UDP_PAYLOAD ? MIN_UDP_PAYLOAD : Math.min(payload, most);
}

/**
 * Writes header, question and OPT record `reply[opt, optEnd)` with TC set, without a partial rrset (RFC 2181 §9). `out`
 * may be `reply`. Returns octets written.
 */
export function truncateInto(
  out: Uint8Array,
  reply: Uint8Array,
  questionEnd: number,
  opt: number,
  optEnd: number,
): number {
  for (let i = 0; i < questionEnd; i++) out[i] = reply[i]!;
  out[2] = out[2]! | TC_BIT;
  for (let i = 6; i < HEADER_OCTETS; i++) out[i] = 0;
  if (opt < optEnd) out[11] = 1;
  let at = questionEnd;
  for (let i = opt; i < optEnd; i++) out[at++] = reply[i]!;
  return at;
}
