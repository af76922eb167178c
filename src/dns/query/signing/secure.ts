import { RCODE, RRTYPE } from '../../../protocol/dns/codes.ts';
import type { DnsRequest } from '../../../protocol/dns/message/request.ts';
import { failedBody, type ReplyBody, rrsetBody, type ZonelessBody } from '../reply/reply-body.ts';
import type { ServedZone, Signatures, ZoneSigner } from '../zone/served-zone.ts';
import type { Rrset } from '../zone/zones.ts';

declare const FINISHED: unique symbol;

const NONE: readonly Rrset[] = [];

/**
 * A body that may be sent. Only this file makes one, and `writeReply` accepts no other type. So a signed zone never
 * sends an unsigned answer to a query with DO.
 */
export type FinishedBody = ReplyBody & {
  readonly [FINISHED]: true;
  /** Rrsets that were signed for this reply, without a cache. */
  readonly freshSignatures: number;
};

/** Whether the reply gets signatures, and a negative one a proof: the zone is signed and the client set DO. */
export function isSigned(request: DnsRequest, zone: ServedZone): boolean {
  return zone.signing.kind === 'signed' && request.edns?.dnssecOk === true;
}

/** Signs the body where `isSigned`. `denied`: types at the name for a negative answer. */
export function finish(
  body: ReplyBody,
  denied: readonly number[] | null,
  request: DnsRequest,
  zone: ServedZone,
): FinishedBody {
  const { signing } = zone;
  if (signing.kind === 'unsigned' || request.edns?.dnssecOk !== true) return finished(body);
  return orSigningFailure(() => secured(body, request.qname, denied, signing.signer));
}

/** Finishes a body without records of a zone: it needs no signature. */
export function finishZoneless(body: ZonelessBody): FinishedBody {
  return finished(body);
}

/** Answers a question for NSEC, with the TTL and expiry of `body` (NODATA, sent as is by an unsigned zone). */
export function finishNsec(
  body: ReplyBody,
  types: readonly number[],
  request: DnsRequest,
  zone: ServedZone,
): FinishedBody {
  const { signing } = zone;
  if (signing.kind === 'unsigned') return finished(body);
  return orSigningFailure(() => {
    const answer = rrsetBody(zone, nsecRrset(request.qname, body, types, signing.signer));
    const { until, once } = body;
    return finish({ ...answer, until, once }, null, request, zone);
  });
}

/**
 * Answers a question for RRSIG with the signatures of one rrset (RFC 8482). `covered`: the rrset, or the types of the
 * NSEC record. Signatures are not signed (RFC 4035 §2.2), so DO has no effect.
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
    const rrset = isRrset(covered) ? covered : nsecRrset(request.qname, body, covered, signer);
    const { rrsigs, renewAt, isFresh } = sign(rrset, body, signer);
    const answer = rrsetBody(zone, { owner: rrset.owner, type: RRTYPE.RRSIG, ttl: rrset.ttl, rdata: rrsigs });
    return finished({ ...answer, until: Math.min(body.until, renewAt) }, isFresh ? 1 : 0);
  });
}

/**
 * Signs answer and authority and adds the proof of a negative answer. Drops additional records, which validators
 * ignore, so that more replies fit (RFC 4035 §3.1.1).
 */
function secured(
  body: ReplyBody,
  qname: Uint8Array,
  denied: readonly number[] | null,
  signer: ZoneSigner,
): FinishedBody {
  if (body.rcode !== RCODE.NOERROR) return finished(body);
  let { until } = body;
  let fresh = 0;
  function addSigned(section: Rrset[], rrset: Rrset): void {
    const { rrsigs, renewAt, isFresh } = sign(rrset, body, signer);
    if (isFresh) fresh++;
    until = Math.min(until, renewAt);
    section.push(rrset, { owner: rrset.owner, type: RRTYPE.RRSIG, ttl: rrset.ttl, rdata: rrsigs });
  }
  const answer: Rrset[] = [];
  for (const rrset of body.answer) addSigned(answer, rrset);
  const authority: Rrset[] = [];
  for (const rrset of body.authority) addSigned(authority, rrset);
  if (denied !== null) addSigned(authority, nsecRrset(qname, body, denied, signer));
  return finished({ ...body, answer, authority, additional: NONE, until }, fresh);
}

/** The NSEC record at a name. Its TTL equals that of the SOA record (RFC 9077 §3). */
function nsecRrset(
  qname: Uint8Array,
  { authority }: ReplyBody,
  types: readonly number[],
  signer: ZoneSigner,
): Rrset {
  const ttl = authority[0]?.ttl ?? 0;
  return { owner: qname, type: RRTYPE.NSEC, ttl, rdata: [signer.nsec(qname, types)] };
}

/** The SOA record is the same at every name: its signature reveals nothing, so it is cached. */
function sign(rrset: Rrset, { once }: ReplyBody, signer: ZoneSigner): Signatures {
  return signer.sign(rrset, once && rrset.type === RRTYPE.NSEC);
}

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

function finished(body: ReplyBody, freshSignatures = 0): FinishedBody {
  return { ...body, freshSignatures } as FinishedBody;
}
