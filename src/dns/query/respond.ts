import type { Transport } from '../../base/network/transport.ts';
import { CLASS, RCODE, RRTYPE } from '../../protocol/dns/codes.ts';
import type { DnsRequest } from '../../protocol/dns/message/request.ts';
import { txtChunks } from '../../protocol/dns/rdata/rdata.ts';
import { PUBLIC_NAMESPACE } from '../../protocol/names/labels.ts';
import { DEMO_NAMESPACES } from '../../protocol/names/namespace-name.ts';
import type { Query } from '../../protocol/names/query-name.ts';
import { causeOfCode, FOREVER, type Outcome, type QueryStatus } from '../../protocol/query/outcome.ts';
import type { HostedView } from '../../view/view.ts';
import type { Accounting, ReadKind, Tag, TaggedQuestion } from '../accounting/tag.ts';
import {
  type DenialMemory,
  denialMemory,
  type NameState,
  stateOfOutcome,
  stateOfShort,
  typesOf,
} from './denial.ts';
import { causeOfMisfit, type Need, workOf } from './operations.ts';
import {
  chaosBody,
  type FinishedBody,
  failedBody,
  finish,
  finishNsec,
  finishRrsig,
  finishZoneless,
  hinfoBody,
  isSigned,
  malformedBody,
  nodataBody,
  outcomeBody,
  type ReplyBody,
  refusalBody,
  rrsetBody,
  signposted,
  unaskableBody,
} from './reply.ts';
import { type Access, checkAccess, type ResolveContext, resolve } from './resolve.ts';
import { dependsOnLetters, type Route, type TextRoute } from './route.ts';
import type { ServedZone } from './zones.ts';

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
  /** Which changes make it untrue: those of its namespace and record, or, where it says nothing of either, those of who may read what. */
  readonly dependsOn: 'names' | 'access';
}

/** Milliseconds for which this server caches a denial that depends on names below. */
const DENIAL_MEMORY_MS = 1000;

const PROOFS: ReadonlySet<number> = new Set([RRTYPE.NSEC, RRTYPE.RRSIG]);

/** What a TXT question at the name gets, and what NSEC may say of the name. */
interface Looked {
  readonly body: ReplyBody;
  /** Reads the view: only a proof needs it. Throws when the view cannot be read. */
  readonly state: () => NameState;
  readonly asked: TaggedQuestion | null;
}

/** Makes the reply body of a routed request. Never throws or rejects: every failure, also to sign, is SERVFAIL. */
export function respond(
  request: DnsRequest,
  to: Route,
  context: RespondContext,
  now: number,
  transport: Transport,
): Answer | Promise<Answer> {
  const counted = (body: FinishedBody, asked: TaggedQuestion | null): Answer => ({
    body,
    tag: asked === null ? null : (context.accounting?.tagOf(asked, body, request.qtype) ?? null),
    dependsOn: asked?.reading === 'none' ? 'access' : 'names',
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
      const asked = (isAnswered: boolean): TaggedQuestion | null =>
        askedOfType(to.text, isAnswered, context, now);
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
      const { access, outcome } = resolve(text.query, context, now, text.zone.text, needOf(request));
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

/** Signatures are made of the text. All else that is asked of a name follows from whether there is one. */
function needOf({ qtype }: DnsRequest): Need {
  return qtype === RRTYPE.TXT || qtype === RRTYPE.RRSIG ? 'text' : 'presence';
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

/** A TXT question that was resolved. @param access null when the view could not be read */
function askedOf(query: Query, access: Access | null, outcome: Outcome): TaggedQuestion {
  const status = statusOf(outcome);
  if (access === null) return { query, namespaceId: null, reading: 'none', status };
  const namespaceId = 'namespaceId' in access ? access.namespaceId : null;
  return { query, namespaceId, reading: readingOf(access), status };
}

/**
 * A question of another type than TXT. Its owner sees what was asked only where it showed a valid token.
 * @param isAnswered with records: of the name (ANY), or its proofs and signatures
 */
function askedOfType(
  text: TextRoute,
  isAnswered: boolean,
  { view, access: settings }: Pick<ResolveContext, 'view' | 'access'>,
  now: number,
): TaggedQuestion | null {
  if (text.kind !== 'query') return askedByName(text, 'miss', view);
  const status = isAnswered ? 'hit' : 'miss';
  try {
    const access = checkAccess(text.query, view, settings, now);
    const namespaceId = 'namespaceId' in access ? access.namespaceId : null;
    // Such a question is never REFUSED: without a token it finds nothing.
    const reading = readingOf(access);
    return { query: text.query, namespaceId, reading, status: reading === 'none' ? 'miss' : status };
  } catch {
    return { query: text.query, namespaceId: null, reading: 'none', status };
  }
}

/**
 * A question that is answered by its name alone. Whether it was authorised is not
 * checked. @returns null when its name is no query
 */
function askedByName(text: TextRoute, status: QueryStatus, view: HostedView): TaggedQuestion | null {
  const query = queryOf(text);
  if (query === null) return null;
  const isOperators = query.namespace === PUBLIC_NAMESPACE || DEMO_NAMESPACES.has(query.namespace);
  if (isOperators) return { query, namespaceId: null, reading: 'operator', status };
  return { query, namespaceId: idOf(query.namespace, view), reading: 'none', status };
}

/** The query of a route, if its name is one. */
export function queryOf(text: TextRoute): Query | null {
  return text.kind === 'short' ? null : (text.query ?? null);
}

function readingOf({ kind }: Access): ReadKind {
  switch (kind) {
    case 'public':
    case 'demo':
      return 'operator';
    case 'open':
    case 'private':
      return kind;
    case 'refused':
      return 'none';
  }
}

function statusOf(outcome: Outcome): QueryStatus {
  switch (outcome.kind) {
    case 'answer':
      return 'hit';
    case 'empty':
      return outcome.reason === 'expired' ? 'expired' : 'miss';
    case 'refused':
      return 'refused';
    case 'malformed':
    case 'failed':
      return 'error';
  }
}

/** Null also for a view that cannot be read: counting must not fail an answer that needs nothing of it. */
function idOf(namespace: string, view: HostedView): string | null {
  try {
    return view.namespace(namespace)?.id ?? null;
  } catch {
    return null;
  }
}

/** Names in class CHAOS: whether they ask for the program or for the node (RFC 4892 §2). */
const NAMES: ReadonlyMap<string, 'program' | 'node'> = new Map([
  ['version.bind', 'program'],
  ['version.server', 'program'],
  ['hostname.bind', 'node'],
  ['id.server', 'node'],
]);

/** `version.bind` gets no version number, which would help to find vulnerable servers. */
const PROGRAM = 'uqrp';

/** TXT rdata for a CHAOS question, or null for one that is not answered. */
function chaosRdata(request: DnsRequest, identity: string): Uint8Array | null {
  if (request.qtype !== RRTYPE.TXT && request.qtype !== RRTYPE.ANY) return null;
  const about = NAMES.get(request.qnameLower ?? '');
  if (about === undefined) return null;
  return txtChunks(Buffer.from(about === 'program' ? PROGRAM : identity));
}
