import type { RRTYPE } from '../../src/edge/wire/codes.ts';

/**
 * Expected result of a query. All but the last two must be secure:
 *   small, large   the record of that size
 *   denied         proven absence
 *   some           an rrset of the queried type
 *   any            an rrset, or its proven absence
 *   unproven       signatures, which no validator can validate: any result but a failure
 *   failed         SERVFAIL: the server refused
 */
export type Expected = 'small' | 'large' | 'denied' | 'some' | 'any' | 'unproven' | 'failed';

export interface Case {
  /** Below the zone, '' at the apex; `$T` is the token. */
  readonly name: string;
  readonly type: keyof typeof RRTYPE;
  readonly expected: Expected;
  /** The answer must not be cached: its TTL is 0, or the resolver's minimum. */
  readonly isPrivate?: true;
}

const PRIVATE = 'get.auth-$T.temp.acme.v1';

/** With a zone of ten octets the name has 255, the maximum. */
const LONGEST = [52, 63, 63, 63].map((octets) => 'x'.repeat(octets)).join('.');

/** The order matters: see README.md. */
export const CASES: readonly Case[] = [
  // Names that do not exist, before their existing neighbours.
  { name: 'get.none.open.v1', type: 'TXT', expected: 'denied' },
  { name: 'get.nothing.public.v1', type: 'TXT', expected: 'denied' },
  { name: 'www', type: 'A', expected: 'denied' },
  { name: 'a.b.c.none.open.v1', type: 'A', expected: 'denied' },
  { name: 'get.auth-$T.none.acme.v1', type: 'TXT', expected: 'denied' },
  { name: 'get.auth-$T.zzzz.acme.v1', type: 'TXT', expected: 'denied' },

  // Names with special proofs: literal wildcards, unusual octets, maximum lengths.
  { name: '*', type: 'A', expected: 'denied' },
  { name: '*.open.v1', type: 'TXT', expected: 'denied' },
  { name: 'get.*.open.v1', type: 'A', expected: 'denied' },
  { name: '*.motd.open.v1', type: 'A', expected: 'denied' },
  { name: '\\000.motd.open.v1', type: 'A', expected: 'denied' },
  { name: '\\255.open.v1', type: 'A', expected: 'denied' },
  { name: LONGEST.slice(1), type: 'A', expected: 'denied' },
  { name: LONGEST, type: 'A', expected: 'denied' },

  // Ancestors of a record's name, for resolvers that minimise names (RFC 9156).
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

  // REFUSED without a token, then answered with it.
  { name: 'get.temp.acme.v1', type: 'TXT', expected: 'failed' },
  { name: 'get.none.acme.v1', type: 'TXT', expected: 'failed' },
  { name: 'get.temp.acme.v1', type: 'A', expected: 'denied' },
  { name: PRIVATE, type: 'A', expected: 'denied' },
  { name: PRIVATE, type: 'TXT', expected: 'small', isPrivate: true },
  { name: 'get.auth-$T.large.acme.v1', type: 'TXT', expected: 'large', isPrivate: true },
  { name: 'get.auth-$T.late.acme.v1', type: 'TXT', expected: 'small', isPrivate: true },
  { name: 'GeT.AuTh-$T.TeMp.AcMe.V1', type: 'TXT', expected: 'small', isPrivate: true },
  // Malformed: FORMERR for TXT only.
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

/** Enough to show whether a resolver accepts one state of the keys. */
export const FEW_CASES: readonly Case[] = CASES.filter(
  ({ name, type }) =>
    (name === 'get.motd.open.v1' && (type === 'TXT' || type === 'A')) ||
    (name === 'get.none.open.v1' && type === 'TXT') ||
    (name === PRIVATE && type === 'TXT') ||
    (name === '' && type === 'SOA'),
);
