import type { RRTYPE } from '../../src/protocol/dns/codes.ts';

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

/** Two items of the dataset that world.ts publishes, to which `-t-` and an instant are added. */
const OPEN_ITEM = 'identity.gtin-demo-k-4006381333931';
const ENDED_ITEM = 'identity.gtin-demo-k-4006381333900';

function asked(item: string, instants: readonly string[], expected: Expected): Case[] {
  return instants.map((at) => ({ name: `${item}-t-${at}.datasets.public.v1`, type: 'TXT', expected }));
}

/** With a zone of ten octets the name has 255, the maximum. */
const LONGEST = [52, 63, 63, 63].map((octets) => 'x'.repeat(octets)).join('.');

/** The order matters: see README.md. */
export const CASES: readonly Case[] = [
  // Names that do not exist, before their existing neighbours.
  { name: 'get.none.open.v1', type: 'TXT', expected: 'denied' },
  { name: 'get.nothing.public.v1', type: 'TXT', expected: 'denied' },
  { name: 'www', type: 'A', expected: 'denied' },
  { name: 'identity.gtin-demo-k-4006381333932.datasets.public.v1', type: 'TXT', expected: 'denied' },
  { name: 'identity.gtin-demo-k-4006381333931.datasets.public.v1', type: 'A', expected: 'denied' },
  { name: 'manifest.gtin-demo-v-9d9d9.datasets.public.v1', type: 'TXT', expected: 'denied' },
  // The second before the first window, the end of it, its last day, and a window that has not begun.
  ...asked(ENDED_ITEM, ['1262303999', '1709164800', '2024-02-29', '2999-01-01'], 'denied'),
  ...asked(ENDED_ITEM, ['9999999999', '9999-12-31'], 'denied'),
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

  { name: 'public.v1', type: 'A', expected: 'denied' },
  { name: 'datasets.public.v1', type: 'NS', expected: 'denied' },
  { name: 'gtin-demo.datasets.public.v1', type: 'A', expected: 'denied' },
  { name: 'gtin-demo-k-4006381333931.datasets.public.v1', type: 'A', expected: 'denied' },

  // Datasets. The keys are a set of two records.
  { name: 'manifest.gtin-demo.datasets.public.v1', type: 'TXT', expected: 'some' },
  { name: 'manifest.gtin-demo-v-1d2d0.datasets.public.v1', type: 'TXT', expected: 'some' },
  { name: 'manifest.keys.datasets.public.v1', type: 'TXT', expected: 'some' },
  { name: 'identity.gtin-demo-k-4006381333931.datasets.public.v1', type: 'TXT', expected: 'some' },
  {
    name: 'iDeNtItY.gTiN-dEmO-K-4006381333931-t-2020-02-29.DATASETS.public.v1',
    type: 'TXT',
    expected: 'some',
  },
  ...asked(OPEN_ITEM, ['2020-02-28', '1582934399', '1582934400', '0001-01-01'], 'some'),
  ...asked(OPEN_ITEM, ['9999999999', '9999-12-31'], 'some'),
  ...asked(ENDED_ITEM, ['1262304000', '2010-01-01', '1709164799', '2024-02-28'], 'some'),

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
