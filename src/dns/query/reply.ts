/** A reply in two steps: its content, its signatures and proofs. `write-reply.ts` makes octets of it. */

import { LIMITS } from '../../base/limits.ts';
import { EDE, RCODE, RRTYPE } from '../../protocol/dns/codes.ts';
import { type EdnsOption, edeOption } from '../../protocol/dns/message/edns.ts';
import type { DnsRequest } from '../../protocol/dns/message/request.ts';
import { hinfoRdata, txtChunks } from '../../protocol/dns/rdata/rdata.ts';
import {
  causeOfCode,
  type FailureCause,
  FOREVER,
  MALFORMED_TEXTS,
  type MalformedCause,
  type Outcome,
} from '../../protocol/query/outcome.ts';
import type { DenialMemory } from './denial.ts';
import type { Rrset, ServedZone, Signatures, Zone, ZoneSigner } from './zones.ts';

/** The content of a reply before encoding. */
export interface ReplyBody {
  /** 12 bits; above 15 only with EDNS. */
  readonly rcode: number;
  readonly aa: boolean;
  readonly answer: readonly Rrset[];
  readonly authority: readonly Rrset[];
  readonly additional: readonly Rrset[];
  /** Encoded extended error, or null. Static text: it contains no name and no token. */
  readonly ede: EdnsOption | null;
  /** Milliseconds since the epoch after which the reply is no longer true. */
  readonly until: number;
  /** Its NSEC record is signed for this reply only (see `DenialMemory`). */
  readonly once: boolean;
  /** SERVFAIL: the failure is on this side. */
  readonly isFailure: boolean;
  /** Rrsets that were signed for this reply, without a cache. */
  readonly freshSignatures: number;
}

declare const ZONELESS: unique symbol;

/** A body without records of a zone (refusal, failure, class CHAOS): it needs no signature. */
type ZonelessBody = ReplyBody & { readonly [ZONELESS]: true };

const NONE: readonly Rrset[] = [];
/** `until` of a reply that must not be cached. */
const UNCACHED = 0;
/** TTL of an error envelope, seconds. */
const ERROR_TTL = 30;

const REFUSALS = {
  outside: edeOption(EDE.NOT_AUTHORITATIVE, 'not a zone of this server'),
  transfer: edeOption(EDE.PROHIBITED, 'zone transfer is not offered'),
  refused: edeOption(EDE.PROHIBITED, 'not authorised'),
} as const;
const MALFORMED = Object.fromEntries(
  Object.entries(MALFORMED_TEXTS).map(([cause, text]) => [cause, edeOption(EDE.OTHER, text)]),
) as Readonly<Record<MalformedCause, EdnsOption>>;
const SIGNPOST = edeOption(EDE.OTHER, 'see get.help.public.v1');
const UNASKABLE = edeOption(EDE.OTHER, 'this type cannot be asked for');
const NXNAME_ASKED = edeOption(EDE.INVALID_QUERY_TYPE, 'NXNAME cannot be asked for');
const BUSY = edeOption(EDE.OTHER, 'too many answers to sign');
const STALE = edeOption(EDE.STALE_ANSWER, 'value past its lifetime');
const FAILURES: Readonly<Record<FailureCause, EdnsOption>> = {
  storage: edeOption(EDE.OTHER, 'storage failure'),
  withheld: edeOption(EDE.NOT_READY, 'a newer value is on its way'),
  provider: edeOption(EDE.NETWORK_ERROR, 'provider failure'),
  signing: edeOption(EDE.OTHER, 'signing failure'),
  'too-large': edeOption(EDE.OTHER, 'answer too large'),
  internal: edeOption(EDE.OTHER, 'internal failure'),
};
/** The answer to ANY (RFC 8482 §4.2). */
const HINFO = hinfoRdata('RFC8482', '');

export function refusalBody(why: keyof typeof REFUSALS, until = FOREVER): ZonelessBody {
  return zoneless(body(RCODE.REFUSED, { ede: REFUSALS[why], until }));
}

export function malformedBody(cause: MalformedCause): ReplyBody {
  return body(RCODE.FORMERR, { ede: MALFORMED[cause] });
}

/** Type 128 has a separate extended error (RFC 9824 §3.5). */
export function unaskableBody(isNxname: boolean): ZonelessBody {
  return zoneless(body(RCODE.FORMERR, { ede: isNxname ? NXNAME_ASKED : UNASKABLE }));
}

export function failedBody(cause: FailureCause): ZonelessBody {
  return zoneless(body(RCODE.SERVFAIL, { ede: FAILURES[cause], until: UNCACHED, isFailure: true }));
}

/** The body of a reply with TC. */
export function blankBody(): ZonelessBody {
  return zoneless(body(RCODE.NOERROR, { aa: true, until: UNCACHED }));
}

/** No signature is left, and the queue is full. */
export function busyBody(): ZonelessBody {
  return zoneless(body(RCODE.SERVFAIL, { ede: BUSY, until: UNCACHED, isFailure: true }));
}

export function nodataBody(zone: Zone, until = FOREVER, memory: DenialMemory = 'shared'): ReplyBody {
  if (memory === 'shared') return body(RCODE.NOERROR, { aa: true, authority: [zone.soa], until });
  const soa = memory === 'no-store' ? { ...zone.soa, ttl: 0 } : zone.soa;
  return body(RCODE.NOERROR, { aa: true, authority: [soa], until: UNCACHED, once: true });
}

export function signposted(nodata: ReplyBody): ReplyBody {
  return { ...nodata, ede: SIGNPOST };
}

/** An rrset of the zone itself; NS gets the name servers' addresses too. */
export function rrsetBody(zone: Zone, rrset: Rrset): ReplyBody {
  const additional = rrset.type === RRTYPE.NS ? zone.glue : NONE;
  return body(RCODE.NOERROR, { aa: true, answer: [rrset], additional });
}

/** ANY at a name with a TXT record, with the TTL and expiry of that record. */
export function hinfoBody(request: DnsRequest, text: ReplyBody): ReplyBody {
  const ttl = text.answer[0]?.ttl ?? 0;
  const answer = [{ owner: request.qname, type: RRTYPE.HINFO, ttl, rdata: [HINFO] }];
  return body(RCODE.NOERROR, { aa: true, answer, until: text.until });
}

export function chaosBody(request: DnsRequest, rdata: Uint8Array): ZonelessBody {
  const answer = [{ owner: request.qname, type: RRTYPE.TXT, ttl: 0, rdata: [rdata] }];
  return zoneless(body(RCODE.NOERROR, { aa: true, answer }));
}

/** RCODE, records, TTL and extended error of an outcome (docs/PROTOCOL.md). */
export function outcomeBody(outcome: Outcome, request: DnsRequest, zone: Zone): ReplyBody {
  switch (outcome.kind) {
    case 'answer':
      if (outcome.text.length > LIMITS.txtValue) return failedBody('too-large');
      return body(RCODE.NOERROR, {
        aa: true,
        answer: [txtRrset(request, outcome.text, outcome.ttl, outcome.more)],
        ede: outcome.stale === true ? STALE : null,
        until: outcome.until,
      });
    case 'empty':
      return nodataBody(zone, outcome.until);
    case 'refused':
      return refusalBody('refused', outcome.until);
    case 'malformed': {
      const answer = outcome.text === undefined ? NONE : [txtRrset(request, outcome.text, ERROR_TTL)];
      return body(RCODE.FORMERR, {
        aa: answer.length > 0,
        answer,
        ede: MALFORMED[outcome.cause ?? causeOfCode(outcome.code)],
        until: outcome.until ?? FOREVER,
      });
    }
    case 'failed': {
      const answer = outcome.text === undefined ? NONE : [txtRrset(request, outcome.text, ERROR_TTL)];
      return { ...failedBody(outcome.cause), aa: answer.length > 0, answer };
    }
  }
}

function txtRrset(
  request: DnsRequest,
  text: Uint8Array,
  ttl: number,
  more: readonly Uint8Array[] = [],
): Rrset {
  return { owner: request.qname, type: RRTYPE.TXT, ttl, rdata: [text, ...more].map(txtChunks) };
}

function zoneless(made: ReplyBody): ZonelessBody {
  return made as ZonelessBody;
}

function body(rcode: number, parts: Partial<Omit<ReplyBody, 'rcode' | 'freshSignatures'>>): ReplyBody {
  return {
    rcode,
    aa: parts.aa ?? false,
    answer: parts.answer ?? NONE,
    authority: parts.authority ?? NONE,
    additional: parts.additional ?? NONE,
    ede: parts.ede ?? null,
    until: parts.until ?? FOREVER,
    once: parts.once ?? false,
    isFailure: parts.isFailure ?? false,
    freshSignatures: 0,
  };
}

declare const FINISHED: unique symbol;

/**
 * A body that may be sent. Only this file makes one, and `writeReply` accepts no other type. So a signed zone never
 * sends an unsigned answer to a query with DO.
 */
export type FinishedBody = ReplyBody & { readonly [FINISHED]: true };

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
    return finished({
      ...answer,
      until: Math.min(body.until, renewAt),
      freshSignatures: isFresh ? 1 : 0,
    });
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
  let { until, freshSignatures } = body;
  function addSigned(section: Rrset[], rrset: Rrset): void {
    const { rrsigs, renewAt, isFresh } = sign(rrset, body, signer);
    if (isFresh) freshSignatures++;
    until = Math.min(until, renewAt);
    section.push(rrset, { owner: rrset.owner, type: RRTYPE.RRSIG, ttl: rrset.ttl, rdata: rrsigs });
  }
  const answer: Rrset[] = [];
  for (const rrset of body.answer) addSigned(answer, rrset);
  const authority: Rrset[] = [];
  for (const rrset of body.authority) addSigned(authority, rrset);
  if (denied !== null) addSigned(authority, nsecRrset(qname, body, denied, signer));
  return finished({ ...body, answer, authority, additional: NONE, until, freshSignatures });
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

function finished(body: ReplyBody): FinishedBody {
  return body as FinishedBody;
}
