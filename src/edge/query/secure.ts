import { RCODE, RRTYPE } from '../wire/codes.ts';
import type { ReplyBody } from './reply-body.ts';
import type { Rrset, Zone } from './zones.ts';

/** Signatures over one rrset. */
export interface Signatures {
  /** RRSIG rdata in wire form. */
  readonly rrsigs: readonly Uint8Array[];
  /** Milliseconds since the epoch from which they are made anew: nothing signed is cached longer. */
  readonly renewAt: number;
}

/** Signs online for one zone. Throws when it cannot: nothing leaves unsigned in place of signed. */
export interface ZoneSigner {
  sign(rrset: Rrset): Signatures;
  /** NSEC rdata at `qname` for these types: the next name is the one right after it (RFC 9824 §2). */
  nsec(qname: Uint8Array, types: readonly number[]): Uint8Array;
}

/**
 * The body with signatures over every rrset of answer and authority, and with the proof of a negative answer. Additional
 * records are left out: nobody validates them, and a reply that fits is worth more (RFC 4035 §3.1.1).
 *
 * @param denied types at the question's name for a negative answer, else null
 * @throws whatever the signer throws
 */
export function secured(
  body: ReplyBody,
  qname: Uint8Array,
  zone: Zone,
  denied: readonly number[] | null,
  signer: ZoneSigner,
): ReplyBody {
  if (body.rcode !== RCODE.NOERROR) return body;
  let { until } = body;
  const signed = (section: readonly Rrset[]): readonly Rrset[] =>
    section.flatMap((rrset) => {
      const { rrsigs, renewAt } = signer.sign(rrset);
      until = Math.min(until, renewAt);
      return [rrset, { owner: rrset.owner, type: RRTYPE.RRSIG, ttl: rrset.ttl, rdata: rrsigs }];
    });
  const answer = signed(body.answer);
  const authority = signed(
    denied === null ? body.authority : [...body.authority, nsecRrset(qname, zone, denied, signer)],
  );
  return { ...body, answer, authority, additional: [], until };
}

/** The NSEC record at a name of the zone; its TTL is that of a negative answer (RFC 9077). */
export function nsecRrset(
  qname: Uint8Array,
  zone: Zone,
  types: readonly number[],
  signer: Pick<ZoneSigner, 'nsec'>,
): Rrset {
  return { owner: qname, type: RRTYPE.NSEC, ttl: zone.soa.ttl, rdata: [signer.nsec(qname, types)] };
}
