import type { RRTYPE } from '../../src/edge/wire/codes.ts';

/**
 * What an answer has to come out as, and always secure but for the last two:
 *   small, large   the record of that size
 *   denied         nothing there, proven
 *   some           an rrset of the type asked for
 *   any            an rrset, or its proven absence
 *   unproven       signatures, which nobody can validate: whatever comes back, but no failure
 *   failed         SERVFAIL: the server refused
 */
export type Expected = 'small' | 'large' | 'denied' | 'some' | 'any' | 'unproven' | 'failed';

export interface Case {
  /** Below the zone, '' at the apex; `$T` is the token. */
  readonly name: string;
  readonly type: keyof typeof RRTYPE;
  readonly expected: Expected;
  /** The answer must not be kept: its TTL is 0, or the least that the resolver knows. */
  readonly isPrivate?: true;
}

const PRIVATE = 'get.auth-$T.temp.acme.v1';

/** With a zone of ten octets, 255: there is no room below it. */
const LONGEST = [52, 63, 63, 63].map((octets) => 'x'.repeat(octets)).join('.');

/** In this order: see README.md. */
export const CASES: readonly Case[] = [
  // Names that are not there, before those beside them that are.
  { name: 'get.none.open.v1', type: 'TXT', expected: 'denied' },
  { name: 'get.nothing.public.v1', type: 'TXT', expected: 'denied' },
  { name: 'www', type: 'A', expected: 'denied' },
  { name: 'a.b.c.none.open.v1', type: 'A', expected: 'denied' },
  { name: 'get.auth-$T.none.acme.v1', type: 'TXT', expected: 'denied' },
  { name: 'get.auth-$T.zzzz.acme.v1', type: 'TXT', expected: 'denied' },

  // Names of which a proof is special: wildcards as they stand, odd octets, the longest there are.
  { name: '*', type: 'A', expected: 'denied' },
  { name: '*.open.v1', type: 'TXT', expected: 'denied' },
  { name: 'get.*.open.v1', type: 'A', expected: 'denied' },
  { name: '*.motd.open.v1', type: 'A', expected: 'denied' },
  { name: '\\000.motd.open.v1', type: 'A', expected: 'denied' },
  { name: '\\255.open.v1', type: 'A', expected: 'denied' },
  { name: LONGEST.slice(1), type: 'A', expected: 'denied' },
  { name: LONGEST, type: 'A', expected: 'denied' },

  // Names on the way to a record, as a resolver that minimises names asks for them.
  { name: 'v1', type: 'A', expected: 'denied' },
  { name: 'v1', type: 'NS', expected: 'denied' },
  { name: 'open.v1', type: 'A', expected: 'denied' },
  { name: 'motd.open.v1', type: 'TXT', expected: 'denied' },
  { name: 'acme.v1', type: 'A', expected: 'denied' },
  { name: 'temp.acme.v1', type: 'A', expected: 'denied' },
  { name: 'auth-$T.temp.acme.v1', type: 'A', expected: 'denied' },

  { name: 'get.motd.open.v1', type: 'A', expected: 'denied' },
  { name: 'get.motd.open.v1', type: 'AAAA', expected: 'denied' },
  { name: 'get.motd.open.v1', type: 'TXT', expected: 'small' },
  { name: 'get.a.b.motd.open.v1', type: 'TXT', expected: 'small' },
  { name: 'get.large.open.v1', type: 'TXT', expected: 'large' },
  { name: 'get.motd.open.v1', type: 'A', expected: 'denied' },
  { name: 'gEt.LaRgE.oPeN.V1', type: 'TXT', expected: 'large' },
  { name: 'GET.none.OPEN.v1', type: 'TXT', expected: 'denied' },

  // Refused without a token, and still there with it.
  { name: 'get.temp.acme.v1', type: 'TXT', expected: 'failed' },
  { name: 'get.none.acme.v1', type: 'TXT', expected: 'failed' },
  { name: 'get.temp.acme.v1', type: 'A', expected: 'denied' },
  { name: PRIVATE, type: 'A', expected: 'denied' },
  { name: PRIVATE, type: 'TXT', expected: 'small', isPrivate: true },
  { name: 'get.auth-$T.large.acme.v1', type: 'TXT', expected: 'large', isPrivate: true },
  { name: 'get.auth-$T.late.acme.v1', type: 'TXT', expected: 'small', isPrivate: true },
  { name: 'GeT.AuTh-$T.TeMp.AcMe.V1', type: 'TXT', expected: 'small', isPrivate: true },
  // Malformed: the server says FORMERR, but only to TXT.
  { name: 'put.motd.open.v1', type: 'A', expected: 'denied' },

  { name: '', type: 'SOA', expected: 'some' },
  { name: '', type: 'NS', expected: 'some' },
  { name: '', type: 'DNSKEY', expected: 'some' },
  { name: '', type: 'CDS', expected: 'some' },
  { name: '', type: 'CDNSKEY', expected: 'some' },
  { name: '', type: 'TXT', expected: 'denied' },
  { name: 'ns1', type: 'A', expected: 'some' },
  { name: 'ns2', type: 'A', expected: 'some' },
  { name: 'ns1', type: 'AAAA', expected: 'denied' },
  { name: 'get.motd.open.v1', type: 'ANY', expected: 'any' },
  { name: 'get.none.open.v1', type: 'ANY', expected: 'any' },
  { name: 'get.none.open.v1', type: 'CAA', expected: 'denied' },
  { name: 'get.motd.open.v1', type: 'NSEC', expected: 'some' },
  { name: 'get.none.open.v1', type: 'NSEC', expected: 'any' },
  { name: '', type: 'NSEC', expected: 'some' },
  { name: 'get.motd.open.v1', type: 'RRSIG', expected: 'unproven' },
  { name: 'get.none.open.v1', type: 'RRSIG', expected: 'unproven' },
  { name: 'get.temp.acme.v1', type: 'RRSIG', expected: 'unproven' },
  { name: 'ns1', type: 'RRSIG', expected: 'unproven' },
  { name: '', type: 'RRSIG', expected: 'unproven' },
];

/** Enough to see that a resolver believes one state of the keys, or does not. */
export const FEW_CASES: readonly Case[] = CASES.filter(
  ({ name, type }) =>
    (name === 'get.motd.open.v1' && (type === 'TXT' || type === 'A')) ||
    (name === 'get.none.open.v1' && type === 'TXT') ||
    (name === PRIVATE && type === 'TXT') ||
    (name === '' && type === 'SOA'),
);
