/** The truncated reply (TC) to a query that a rate limit refuses. */

import { LIMITS } from '../../base/limits.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { MAX_NAME_OCTETS } from '../../protocol/dns/name.ts';
import { put16, u16At } from '../../protocol/dns/octets.ts';
import {
  afterQuestion,
  HEADER_OCTETS,
  OPT_AT,
  OPT_OCTETS,
  optOfRequest,
  QUESTION_OCTETS,
  TC_BIT,
} from '../../protocol/dns/skim.ts';

/** Header, longest name, type and class. */
const QUESTION_END_MAX = HEADER_OCTETS + MAX_NAME_OCTETS + QUESTION_OCTETS;
const QR = 0x80;
const OPCODE = 0x78;
const RD = 0x01;
const CD = 0x10;
/** The DO bit is copied (RFC 3225 §3). */
const DNSSEC_OK = 0x8000;

/**
 * Writes header and question with TC set, and an OPT record without options if the query has one.
 * @param out room for 282 octets; a reply is never longer than its query
 * @returns the octets written; 0: not an ordinary query, no reply
 */
export function writeSlip(query: Uint8Array, length: number, out: Uint8Array): number {
  const end = afterQuestion(query, length);
  // Never answer a response: two servers could then exchange messages without an end.
  if (end < 0 || end > QUESTION_END_MAX || (query[2]! & (QR | OPCODE)) !== 0) return 0;
  for (let i = 0; i < end; i++) out[i] = query[i]!;
  out[2] = QR | TC_BIT | (query[2]! & RD);
  out[3] = query[3]! & CD;
  out.fill(0, 6, HEADER_OCTETS);
  const opt = optOfRequest(query, end, length);
  // Another version needs BADVERS, which the handler writes (RFC 6891 §6.1.3).
  if (opt === 0 || query[opt + OPT_AT.version] !== 0) return end;
  out[11] = 1;
  out.fill(0, end, end + OPT_OCTETS);
  put16(out, end + 1, RRTYPE.OPT);
  put16(out, end + OPT_AT.payload, LIMITS.udpPayload);
  put16(out, end + OPT_AT.flags, u16At(query, opt + OPT_AT.flags) & DNSSEC_OK);
  return end + OPT_OCTETS;
}
