import { AUTH_PREFIX } from '../../../core/names/labels.ts';
import { RRTYPE } from '../../wire/codes.ts';
import { u16At, u32At } from '../../wire/octets.ts';
import { afterName, HEADER_OCTETS, QUESTION_OCTETS, RECORD_OCTETS } from '../../wire/skim.ts';

/** Offset from the end of an SOA: the TTL of negative answers. */
const MINIMUM_OCTETS = 4;
const AUTH = Buffer.from(AUTH_PREFIX);
/** Set in lower-case letters and in the hyphen. */
const CASE_BIT = 0x20;
/** A TTL with the top bit set counts as zero (RFC 2181 §8). */
const TTL_MAX = 0x7fff_ffff;

/**
 * HTTP cache time in seconds (RFC 8484 §5.1): the least TTL in answer and authority; an SOA counts with its negative TTL
 * (RFC 2308 §5). 0, no caching: a private answer (TTL 0), a reply without records, an unreadable one, or one to a question that
 * holds a token, whatever the namespace: a cache would keep the token with the name.
 */
export function cacheSeconds(reply: Uint8Array): number {
  if (reply.length < HEADER_OCTETS) return 0;
  let at = HEADER_OCTETS;
  for (let questions = u16At(reply, 4); questions > 0; questions--) {
    const end = afterName(reply, at, reply.length);
    if (end < 0 || hasToken(reply, at, end)) return 0;
    at = end + QUESTION_OCTETS;
  }
  const records = u16At(reply, 6) + u16At(reply, 8);
  let least = TTL_MAX;
  for (let record = 0; record < records; record++) {
    at = afterName(reply, at, reply.length);
    if (at < 0 || at + RECORD_OCTETS > reply.length) return 0;
    const type = u16At(reply, at);
    const ttl = u32At(reply, at + 4);
    at += RECORD_OCTETS + u16At(reply, at + 8);
    if (at > reply.length) return 0;
    least = Math.min(least, ttl > TTL_MAX ? 0 : ttl);
    if (type === RRTYPE.SOA) least = Math.min(least, u32At(reply, at - MINIMUM_OCTETS));
  }
  return records === 0 ? 0 : least;
}

/** Whether a label of a name, in whatever case, is a token. @param end after the name, which is whole */
function hasToken(octets: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += octets[at]! + 1) if (isTokenAt(octets, at)) return true;
  return false;
}

function isTokenAt(octets: Uint8Array, at: number): boolean {
  if (octets[at]! < AUTH.length) return false;
  return AUTH.every((letter, i) => (octets[at + 1 + i]! | CASE_BIT) === letter);
}
