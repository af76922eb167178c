import type { Transport } from '../../base/network/transport.ts';
import { CLASS, RCODE, RRTYPE } from '../../protocol/dns/codes.ts';
import type { DnsRequest } from '../../protocol/dns/message/request.ts';
import { causeOfCode } from '../../protocol/query/malformed.ts';
import { FOREVER } from '../../protocol/query/outcome.ts';
import type { Query } from '../../protocol/query/query.ts';
import type { Accounting, Asked, Tag } from '../accounting/tag.ts';
import { askedByName, askedOf, askedOfType } from './asked.ts';
import { type DenialMemory, denialMemory } from './denial/denial-memory.ts';
import { type NameState, stateOfOutcome, stateOfShort, typesOf } from './denial/name-state.ts';
import { dependsOnLetters } from './operations/letters.ts';
import { causeOfMisfit, workOf } from './operations/operations.ts';
import { chaosRdata } from './reply/chaos.ts';
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
  signposted,
  unaskableBody,
} from './reply/reply-body.ts';
import { type ResolveContext, resolve } from './resolve.ts';
import type { Route, TextRoute } from './route.ts';
import {
  type FinishedBody,
  finish,
  finishNsec,
  finishRrsig,
  finishZoneless,
  isSigned,
} from './signing/secure.ts';
import type { ServedZone } from './zone/served-zone.ts';

export interface RespondContext extends ResolveContext {
  /** The node's name in `id.server` and NSID. */
  readonly identity: string;
  /** Absent: queries are not counted. */
  readonly accounting?: Accounting;
}

/** A reply, and what it is counted as: null when the question was no query of the product. */
export interface Answer {
  readonly body: FinishedBody;
  readonly tag: Tag | null;
}

/** Milliseconds for which this server caches a denial that depends on names below. */
const DENIAL_MEMORY_MS = 1000;

const PROOFS: ReadonlySet<number> = new Set([RRTYPE.NSEC, RRTYPE.RRSIG]);

/** What a TXT question at the name gets, and what NSEC may say of the name. */
interface Looked {
  readonly body: ReplyBody;
  /** Reads the view: only a proof needs it. Throws when the view cannot be read. */
  readonly state: () => NameState;
  readonly asked: Asked | null;
}

/** Makes the reply body of a routed request. Never throws or rejects: every failure, also to sign, is SERVFAIL. */
export function respond(
  request: DnsRequest,
  to: Route,
  context: RespondContext,
  now: number,
  transport: Transport,
): Answer | Promise<Answer> {
  const counted = (body: FinishedBody, asked: Asked | null): Answer => ({
    body,
    tag: asked === null ? null : (context.accounting?.tagOf(asked, body, request.qtype) ?? null),
  });
  switch (to.kind) {
    case 'outside': {
      const chaos = request.qclass === CLASS.CH ? chaosRdata(request, context.identity) : null;
      return counted(
        finishZoneless(chaos === null ? refusalBody('outside') : chaosBody(request, chaos)),
        null,
      );
    }
    case 'transfer':
      return counted(finishZoneless(refusalBody('transfer')), null);
    case 'unaskable':
      return counted(finishZoneless(unaskableBody(to.isNxname)), null);
    case 'zoneRecord':
      return counted(zoneRecord(request, to), null);
    case 'text': {
      const memory = () => denialMemory(request, to.text, context, transport);
      return after(look(request, to.text, context, now), (looked) => {
        const body = orStorageFailure(() => text(looked, request, to, memory, now), request, to.zone);
        return counted(body, looked.asked);
      });
    }
    case 'other': {
      const memory = () => denialMemory(request, to.text, context, transport);
      const asked = (isAnswered: boolean): Asked | null => askedOfType(to.text, isAnswered, context, now);
      if (!needsLook(request, to)) {
        // Opening or closing the namespace of such a name increments no freshness counter.
        const until = to.text.kind === 'query' ? FOREVER : now + DENIAL_MEMORY_MS;
        return counted(finish(nodataBody(to.zone, until, memory()), null, request, to.zone), asked(false));
      }
      return after(look(request, to.text, context, now), (looked) => {
        const body = orStorageFailure(() => other(looked, request, to, memory, now), request, to.zone);
        return counted(body, asked(body.answer.length > 0));
      });
    }
  }
}

/** Whether the answer may need a signature, before any lookup. Refusals by name alone need none. */
export function mayNeedSignatures(request: DnsRequest, to: Route): boolean {
  if (to.kind !== 'zoneRecord' && to.kind !== 'text' && to.kind !== 'other') return false;
  if (to.kind === 'text' && (to.text.kind === 'malformed' || to.text.kind === 'refused')) return false;
  if (to.zone.signing.kind === 'unsigned') return false;
  return request.edns?.dnssecOk === true || PROOFS.has(request.qtype);
}

/** What the answer may cost beside its signatures, in signatures, before any lookup. */
export function mayNeedWork(request: DnsRequest, to: Route, { services }: RespondContext): number {
  if (to.kind !== 'text' && (to.kind !== 'other' || !needsLook(request, to))) return 0;
  return to.text.kind === 'query' ? workOf(to.text.query, services) : 0;
}

type TextQuestion = Extract<Route, { kind: 'text' }>;
type ZoneRecordRoute = Extract<Route, { kind: 'zoneRecord' }>;
type OtherRoute = Extract<Route, { kind: 'other' }>;

function zoneRecord(request: DnsRequest, { zone, rrset, types }: ZoneRecordRoute): FinishedBody {
  if (rrset !== null) {
    if (request.qtype === RRTYPE.RRSIG) return finishRrsig(nodataBody(zone), rrset, request, zone);
    return finish(rrsetBody(zone, rrset), null, request, zone);
  }
  if (request.qtype === RRTYPE.NSEC) return finishNsec(nodataBody(zone), types, request, zone);
  const nodata = nodataBody(zone);
  return finish(request.qtype === RRTYPE.TXT ? signposted(nodata) : nodata, types, request, zone);
}

/** Only proofs, signatures and ANY depend on the TXT answer. Other types are NODATA at every name. */
function needsLook(request: DnsRequest, { qtype, zone }: OtherRoute): boolean {
  if (qtype === RRTYPE.ANY) return true;
  return zone.signing.kind === 'signed' && (PROOFS.has(qtype) || request.edns?.dnssecOk === true);
}

function look(
  request: DnsRequest,
  text: TextRoute,
  context: RespondContext,
  now: number,
): Looked | Promise<Looked> {
  switch (text.kind) {
    case 'malformed':
      return {
        body: malformedBody(text.query === undefined ? causeOfCode(text.code) : causeOfMisfit(text.query)),
        state: closed,
        asked: askedByName(text, 'error', context.view),
      };
    case 'refused':
      return {
        body: refusalBody('refused'),
        state: closed,
        asked: askedByName(text, 'refused', context.view),
      };
    case 'short':
      return { body: nodataBody(text.zone), state: () => stateOfShort(text.below, context), asked: null };
    case 'query': {
      const { access, outcome } = resolve(text.query, context, now, text.zone.text);
      return after(
        outcome,
        (known): Looked => ({
          body: keptFor(text.query, outcomeBody(known, request, text.zone)),
          state: () => stateOfOutcome(known, text.below, context),
          asked: askedOf(text.query, access, known),
        }),
      );
    }
  }
}

const closed = (): NameState => 'closed';

/** Marks an answer that depends on letter case as not cacheable: the packet cache ignores case. */
function keptFor(query: Query, body: ReplyBody): ReplyBody {
  return dependsOnLetters(query) ? { ...body, until: 0 } : body;
}

/** A failure of the view is SERVFAIL. */
function orStorageFailure(make: () => FinishedBody, request: DnsRequest, zone: ServedZone): FinishedBody {
  try {
    return make();
  } catch {
    return finish(failedBody('storage'), null, request, zone);
  }
}

function text(
  { body, state }: Looked,
  request: DnsRequest,
  { zone, text: asked }: TextQuestion,
  memory: () => DenialMemory,
  now: number,
): FinishedBody {
  if (body.rcode !== RCODE.NOERROR || body.answer.length > 0) return finish(body, null, request, zone);
  const nodata = nodataBody(zone, deniedUntil(body, now), memory());
  const types = isSigned(request, zone) ? typesOf(state()) : null;
  return finish(asked.kind === 'short' ? signposted(nodata) : nodata, types, request, zone);
}

/** Another type at a name where only TXT can be. A refusal or a malformed name is NODATA. */
function other(
  { body, state }: Looked,
  request: DnsRequest,
  to: OtherRoute,
  memory: () => DenialMemory,
  now: number,
): FinishedBody {
  const { zone, qtype } = to;
  if (body.isFailure) return finish({ ...body, answer: [] }, null, request, zone);
  const nodata = nodataBody(zone, deniedUntil(body, now), memory());
  const found = state();
  const types = typesOf(found);
  if (qtype === RRTYPE.NSEC) return finishNsec(nodata, types, request, zone);
  if (qtype === RRTYPE.RRSIG) return finishRrsig(nodata, body.answer[0] ?? types, request, zone);
  if (qtype === RRTYPE.ANY && found === 'text') return finish(hinfoBody(request, body), null, request, zone);
  return finish(nodata, types, request, zone);
}

/** The NSEC record covers names below, whose counters are not checked, so the limit is one second. */
function deniedUntil({ until }: ReplyBody, now: number): number {
  return Math.min(until, now + DENIAL_MEMORY_MS);
}

/** `then` that runs synchronously for a value that is not a promise: the usual case. */
function after<T, U>(value: T | Promise<T>, next: (value: T) => U): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
