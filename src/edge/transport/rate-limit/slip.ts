/** The reply to a query for which no work is done, because its network has reached a rate limit. */

import { LIMITS } from '../../../core/limits.ts';
import { RRTYPE } from '../../wire/codes.ts';
import { MAX_NAME_OCTETS } from '../../wire/name.ts';
import { put16, u16At } from '../../wire/octets.ts';
import {
  afterQuestion,
  HEADER_OCTETS,
  OPT_AT,
  OPT_OCTETS,
  optOfRequest,
  QUESTION_OCTETS,
  TC_BIT,
} from '../../wire/skim.ts';

/** Header, the longest name, type and class. */
const QUESTION_END_MAX = HEADER_OCTETS + MAX_NAME_OCTETS + QUESTION_OCTETS;
const QR = 0x80;
const OPCODE = 0x78;
const RD = 0x01;
const CD = 0x10;
/** RFC 3225 §3: the DO bit is copied. */
const DNSSEC_OK = 0x8000;

/**
 * Writes header and question with TC set, and an OPT record without options where the query has one: what is left of any
 * reply that the rate limit cuts down. The client asks again over TCP, which proves its address.
 *
 * @param out room for 282 octets; never more than the query has
 * @returns the octets written, or 0: this is no ordinary query, and gets no reply from here
 */
export function writeSlip(query: Uint8Array, length: number, out: Uint8Array): number {
  const end = afterQuestion(query, length);
  // A response must never be answered: two servers would talk to each other without an end.
  if (end < 0 || end > QUESTION_END_MAX || (query[2]! & (QR | OPCODE)) !== 0) return 0;
  for (let i = 0; i < end; i++) out[i] = query[i]!;
  out[2] = QR | TC_BIT | (query[2]! & RD);
  out[3] = query[3]! & CD;
  out.fill(0, 6, HEADER_OCTETS);
  const opt = optOfRequest(query, end, length);
  // Another version is answered with BADVERS alone (RFC 6891 §6.1.3), which is not for this place to say.
  if (opt === 0 || query[opt + OPT_AT.version] !== 0) return end;
  out[11] = 1;
  out.fill(0, end, end + OPT_OCTETS);
  put16(out, end + 1, RRTYPE.OPT);
  put16(out, end + OPT_AT.payload, LIMITS.udpPayload);
  put16(out, end + OPT_AT.flags, u16At(query, opt + OPT_AT.flags) & DNSSEC_OK);
  return end + OPT_OCTETS;
}
