import { FOREVER, type Outcome } from '../../core/outcome.ts';
import { CLASS, RRTYPE } from '../wire/codes.ts';
import type { DnsRequest } from '../wire/request.ts';
import { chaosRdata } from './chaos.ts';
import { type NameState, stateOfOutcome, stateOfShort, typesOf } from './denial.ts';
import {
  chaosBody,
  failedBody,
  hinfoBody,
  malformedBody,
  nodataBody,
  outcomeBody,
  type ReplyBody,
  refusalBody,
  rrsetBody,
  unaskableBody,
} from './reply-body.ts';
import { type ResolveContext, resolve } from './resolve.ts';
import type { Route, TextRoute } from './route.ts';
import { nsecRrset, secured, type ZoneSigner } from './secure.ts';
import type { Rrset, Zone } from './zones.ts';

export interface RespondContext extends ResolveContext {
  /** The signer of a zone, or null where answers are not signed. */
  readonly signerOf: (zone: Zone) => ZoneSigner | null;
  /** What a node calls itself in `id.server` and NSID. */
  readonly identity: string;
}

/** Milliseconds that a denial is kept where it depends on more than one name: names below may come and go. */
const DENIAL_MEMORY_MS = 1000;

/** Types that every name of a signed zone has. */
const PROOFS: ReadonlySet<number> = new Set([RRTYPE.NSEC, RRTYPE.RRSIG]);

/** What a TXT question at the name got, and what may be told of the name. */
interface Looked {
  readonly body: ReplyBody;
  readonly state: NameState;
}

/**
 * From a routed request to what the reply says, signed where that was asked for. Never throws or rejects: whatever goes
 * wrong leaves as SERVFAIL, and an answer that could not be signed does not leave (specification, Specific conditions).
 */
export function respond(
  request: DnsRequest,
  to: Route,
  context: RespondContext,
  now: number,
): ReplyBody | Promise<ReplyBody> {
  switch (to.kind) {
    case 'outside': {
      const chaos = request.qclass === CLASS.CH ? chaosRdata(request, context.identity) : null;
      return chaos === null ? refusalBody('outside') : chaosBody(request, chaos);
    }
    case 'transfer':
      return refusalBody('transfer');
    case 'unaskable':
      return unaskableBody(to.isNxname);
    case 'own': {
      if (to.rrset !== null) {
        if (request.qtype === RRTYPE.RRSIG) return rrsigBody(to.zone, to.rrset, FOREVER, context);
        return finish(rrsetBody(to.zone, to.rrset), null, request, to.zone, context);
      }
      if (request.qtype === RRTYPE.NSEC) return nsecBody(request, to.zone, to.types, FOREVER, context);
      return finish(nodataBody(to.zone), to.types, request, to.zone, context);
    }
    case 'text':
      return after(look(request, to.text, context, now), ({ body, state }) =>
        finish(body, body.answer.length === 0 ? typesOf(state) : null, request, to.zone, context),
      );
    case 'other': {
      if (!needsLook(request, to, context)) return nodataBody(to.zone);
      return after(look(request, to.text, context, now), (looked) =>
        other(looked, request, to, context, now),
      );
    }
  }
}

type OtherRoute = Extract<Route, { kind: 'other' }>;

/** Only proofs, signatures and ANY depend on what a TXT question would get; anything else is plain NODATA at every name. */
function needsLook(request: DnsRequest, to: OtherRoute, context: RespondContext): boolean {
  if (to.qtype === RRTYPE.ANY) return true;
  const isSigned = context.signerOf(to.zone) !== null;
  return isSigned && (PROOFS.has(to.qtype) || request.edns?.dnssecOk === true);
}

function look(
  request: DnsRequest,
  text: TextRoute,
  context: RespondContext,
  now: number,
): Looked | Promise<Looked> {
  switch (text.kind) {
    case 'malformed':
      return { body: malformedBody(), state: 'closed' };
    case 'refused':
      return { body: refusalBody('refused'), state: 'closed' };
    case 'short':
      return guarded(() => ({
        body: nodataBody(text.zone, now + DENIAL_MEMORY_MS),
        state: stateOfShort(text.below, context),
      }));
    case 'query': {
      const looked = (outcome: Outcome): Looked =>
        guarded(() => ({
          body: outcomeBody(outcome, request, text.zone),
          state: stateOfOutcome(outcome, text.below, context),
        }));
      return after(resolve(text.query, context, now), looked);
    }
  }
}

/** The view may fail under the state as it may under the outcome. */
function guarded(look: () => Looked): Looked {
  try {
    return look();
  } catch {
    return { body: failedBody('storage'), state: 'closed' };
  }
}

/** Another type at a name where only TXT can be. A refusal or a malformed name is NODATA here, as everywhere below. */
function other(
  looked: Looked,
  request: DnsRequest,
  to: OtherRoute,
  context: RespondContext,
  now: number,
): ReplyBody {
  const { body, state } = looked;
  if (body.isFailure) return { ...body, answer: [] };
  const until = Math.min(body.until, now + DENIAL_MEMORY_MS);
  if (to.qtype === RRTYPE.NSEC) return nsecBody(request, to.zone, typesOf(state), until, context);
  if (to.qtype === RRTYPE.RRSIG) {
    const signer = context.signerOf(to.zone);
    if (signer === null) return nodataBody(to.zone);
    const covered = body.answer[0] ?? nsecRrset(request.qname, to.zone, typesOf(state), signer);
    return rrsigBody(to.zone, covered, until, context);
  }
  if (to.qtype === RRTYPE.ANY && state === 'text') {
    return finish(hinfoBody(request, body), null, request, to.zone, context);
  }
  return finish(nodataBody(to.zone, until), typesOf(state), request, to.zone, context);
}

function nsecBody(
  request: DnsRequest,
  zone: Zone,
  types: readonly number[],
  until: number,
  context: RespondContext,
): ReplyBody {
  const signer = context.signerOf(zone);
  if (signer === null) return nodataBody(zone);
  const body = { ...rrsetBody(zone, nsecRrset(request.qname, zone, types, signer)), until };
  return finish(body, null, request, zone, context);
}

/** Signatures of one rrset at the name for all of them, as with ANY (RFC 8482): there is no proof that there are none. */
function rrsigBody(zone: Zone, covered: Rrset, until: number, context: RespondContext): ReplyBody {
  const signer = context.signerOf(zone);
  if (signer === null) return nodataBody(zone);
  try {
    const { rrsigs, renewAt } = signer.sign(covered);
    const { owner, ttl } = covered;
    const body = rrsetBody(zone, { owner, type: RRTYPE.RRSIG, ttl, rdata: rrsigs });
    return { ...body, until: Math.min(until, renewAt) };
  } catch {
    return failedBody('signing');
  }
}

function finish(
  body: ReplyBody,
  denied: readonly number[] | null,
  request: DnsRequest,
  zone: Zone,
  context: RespondContext,
): ReplyBody {
  const signer = request.edns?.dnssecOk === true ? context.signerOf(zone) : null;
  if (signer === null) return body;
  try {
    return secured(body, request.qname, zone, denied, signer);
  } catch {
    return failedBody('signing');
  }
}

/** `then` for what is most often here already. */
function after<T, U>(value: T | Promise<T>, next: (value: T) => U): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
