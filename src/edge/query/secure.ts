import { RCODE, RRTYPE } from '../wire/codes.ts';
import type { DnsRequest } from '../wire/request.ts';
import { failedBody, type ReplyBody, rrsetBody, type ZonelessBody } from './reply-body.ts';
import type { ServedZone, ZoneSigner } from './served-zone.ts';
import type { Rrset, Zone } from './zones.ts';

declare const FINISHED: unique symbol;

/**
 * A body that may leave. Only the functions of this file make one, and `writeReply` takes nothing else: so an answer of a
 * signed zone to a client with the DO bit is signed, or it is SERVFAIL.
 */
export type FinishedBody = ReplyBody & { readonly [FINISHED]: true };

/**
 * The body, with signatures where the zone is signed and the client asked for them.
 *
 * @param denied types at the question's name for a negative answer, else null
 */
export function finish(
  body: ReplyBody,
  denied: readonly number[] | null,
  request: DnsRequest,
  zone: ServedZone,
): FinishedBody {
  const { signing } = zone;
  if (signing.kind === 'unsigned' || request.edns?.dnssecOk !== true) return finished(body);
  return orSigningFailure(() => finished(secured(body, request.qname, zone, denied, signing.signer)));
}

/** A body without records of a zone, which nobody could sign. */
export function finishZoneless(body: ZonelessBody): FinishedBody {
  return finished(body);
}

/**
 * The answer to a question for NSEC at a name.
 *
 * @param types those that the record lists
 */
export function finishNsec(
  body: ReplyBody,
  types: readonly number[],
  request: DnsRequest,
  zone: ServedZone,
): FinishedBody {
  const { signing } = zone;
  if (signing.kind === 'unsigned') return finished(body);
  return orSigningFailure(() => {
    const answer = rrsetBody(zone, nsecRrset(request.qname, zone, types, signing.signer));
    return finish({ ...answer, until: body.until }, null, request, zone);
  });
}

/**
 * The answer to a question for RRSIG: the signatures of one rrset at the name for all of them, as with ANY (RFC 8482).
 * Nobody signs signatures (RFC 4035 §2.2), so there is nothing to add with DO.
 *
 * @param body what a zone without signatures answers, and until when
 * @param covered the rrset, or the types of the NSEC record where there is no other
 */
export function finishRrsig(
  body: ReplyBody,
  covered: Rrset | readonly number[],
  request: DnsRequest,
  zone: ServedZone,
): FinishedBody {
  const { signing } = zone;
  if (signing.kind === 'unsigned') return finished(body);
  const { signer } = signing;
  return orSigningFailure(() => {
    const rrset = isRrset(covered) ? covered : nsecRrset(request.qname, zone, covered, signer);
    const { rrsigs, renewAt } = signer.sign(rrset);
    const answer = rrsetBody(zone, { owner: rrset.owner, type: RRTYPE.RRSIG, ttl: rrset.ttl, rdata: rrsigs });
    return finished({ ...answer, until: Math.min(body.until, renewAt) });
  });
}

/**
 * The body with signatures over every rrset of answer and authority, and with the proof of a negative answer. Additional
 * records are left out: nobody validates them, and a reply that fits is worth more (RFC 4035 §3.1.1).
 */
function secured(
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
function nsecRrset(qname: Uint8Array, zone: Zone, types: readonly number[], signer: ZoneSigner): Rrset {
  return { owner: qname, type: RRTYPE.NSEC, ttl: zone.soa.ttl, rdata: [signer.nsec(qname, types)] };
}

/** A signer that fails must not end the query: what could not be signed leaves as SERVFAIL. */
function orSigningFailure(sign: () => FinishedBody): FinishedBody {
  try {
    return sign();
  } catch {
    return finished(failedBody('signing'));
  }
}

function isRrset(covered: Rrset | readonly number[]): covered is Rrset {
  return 'rdata' in covered;
}

function finished(body: ReplyBody): FinishedBody {
  return body as FinishedBody;
}
