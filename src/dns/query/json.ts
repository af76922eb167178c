/** The JSON API, `GET /resolve` (docs/API.md). Pure. */

import { LIMITS } from '../../base/limits.ts';
import { EDNS_OPTION, edeName, parseRrtype, RRTYPE } from '../../protocol/dns/codes.ts';
import { type EdnsOption, readEde } from '../../protocol/dns/message/edns.ts';
import { decodeMessage, encodeQuery, type Message, type Rr } from '../../protocol/dns/message/message.ts';
import { nameFromText, nameToText } from '../../protocol/dns/name.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import type { JsonApi, JsonResult } from '../shared/handler.ts';

export interface JsonQuestion {
  readonly request: Uint8Array;
  /** `ct=application/dns-message`: the reply is sent as a DNS message. */
  readonly wire: boolean;
  /** `edns_client_subnet`: echoed, never used. No answer depends on the client's address. */
  readonly ecs: string | null;
}

export interface JsonRr {
  readonly name: string;
  readonly type: number;
  readonly TTL: number;
  readonly data: string;
}

export interface JsonDocument {
  /** All 12 bits of the response code. */
  readonly Status: number;
  readonly TC: boolean;
  readonly RD: boolean;
  readonly RA: boolean;
  readonly AD: boolean;
  readonly CD: boolean;
  readonly Question: readonly { readonly name: string; readonly type: number }[];
  readonly Answer: readonly JsonRr[];
  /** The SOA of an answer without data, and its proofs with `do`. Absent when empty. */
  readonly Authority?: readonly JsonRr[];
  readonly edns_client_subnet?: string;
  /** Extended errors (RFC 8914). */
  readonly Comment?: string;
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['', true],
  ['1', true],
  ['true', true],
  ['0', false],
  ['false', false],
]);
const WIRE_TYPE = 'application/dns-message';
/** The root has no label, so its length is outside 1 to 253. */
const ROOT_OCTETS = 1;
const PRINTABLE = /^[\x21-\x7e]+$/;

/**
 * The DNS query for `GET /resolve`. The first of a repeated parameter counts; unknown ones are ignored. The query
 * always has EDNS, without which a reply cannot carry an extended error.
 */
export function jsonQuery(params: URLSearchParams): JsonQuestion | { readonly error: string } {
  const name = params.get('name');
  if (name === null) return { error: 'Parameter name is missing' };
  const qname = readName(name);
  if (qname === null && /[\u0080-\uffff]/.test(name)) {
    return {
      error: 'Parameter name has characters outside ASCII: write them as hex- or b32- of their UTF-8 text',
    };
  }
  if (qname === null) return { error: 'Parameter name is not a domain name of 1 to 253 characters' };
  const qtype = readType(params.get('type'));
  if (qtype === null) return { error: 'Parameter type is not a DNS type' };
  const flags = {
    cd: readFlag(params, 'cd', false),
    dnssecOk: readFlag(params, 'do', false),
    rd: readFlag(params, 'rd', true),
  };
  if (flags.cd === null) return { error: 'Parameter cd is not a boolean' };
  if (flags.dnssecOk === null) return { error: 'Parameter do is not a boolean' };
  if (flags.rd === null) return { error: 'Parameter rd is not a boolean' };
  const request = encodeQuery(qname, qtype, {
    // Zero, so that equal questions are equal octets (RFC 8484 §4.1).
    id: 0,
    rd: flags.rd,
    cd: flags.cd,
    edns: { payload: LIMITS.udpPayload, dnssecOk: flags.dnssecOk },
  });
  const wire = params.get('ct')?.toLowerCase() === WIRE_TYPE;
  return { request, wire, ecs: params.get('edns_client_subnet') };
}

function readName(text: string | null): Uint8Array | null {
  // Other scripts must arrive as A-labels (RFC 5891). The limit applies to the wire form, after unescaping.
  const name = text !== null && PRINTABLE.test(text) ? nameFromText(text) : null;
  return name === null || name.length === ROOT_OCTETS ? null : name;
}

function readType(text: string | null): number | null {
  return text === null ? RRTYPE.A : parseRrtype(text);
}

function readFlag(params: URLSearchParams, name: string, absent: boolean): boolean | null {
  const text = params.get(name);
  return text === null ? absent : (FLAGS.get(text.toLowerCase()) ?? null);
}

export const jsonApi: JsonApi = (params, ask) => {
  const question = jsonQuery(params);
  if ('error' in question) return { kind: 'refused', error: question.error };
  const reply = ask(question.request);
  return reply instanceof Promise
    ? reply.then((late) => resultOf(question, late))
    : resultOf(question, reply);
};

function resultOf(question: JsonQuestion, reply: Uint8Array | null): JsonResult {
  if (question.wire) return { kind: 'message', reply };
  const document = reply === null ? null : jsonAnswer(question, reply);
  return reply === null || document === null ? { kind: 'unreadable' } : { kind: 'document', document, reply };
}

/** The JSON document of a reply, or null if it is not a DNS message. */
export function jsonAnswer(query: JsonQuestion, reply: Uint8Array): JsonDocument | null {
  const message = decodeMessage(reply);
  if (message === null) return null;
  const comment = commentOf(message);
  return {
    Status: message.rcode,
    TC: message.tc,
    RD: message.rd,
    RA: message.ra,
    AD: message.ad,
    CD: message.cd,
    Question: message.question.map(({ qname, qtype }) => ({ name: nameToText(qname), type: qtype })),
    Answer: message.answer.map(renderRr),
    ...(message.authority.length > 0 && { Authority: message.authority.map(renderRr) }),
    ...(query.ecs !== null && { edns_client_subnet: query.ecs }),
    ...(comment !== '' && { Comment: comment }),
  };
}

function renderRr(rr: Rr): JsonRr {
  return { name: nameToText(rr.owner), type: rr.type, TTL: rr.ttl, data: rdataToText(rr.type, rr.rdata) };
}

function commentOf(message: Message): string {
  const options = message.edns?.options ?? [];
  return options.flatMap(renderExtendedError).join('; ');
}

/** `EDE(18): Prohibited: text`; empty for other options. */
function renderExtendedError(option: EdnsOption): string[] {
  if (option.code !== EDNS_OPTION.EDE) return [];
  const error = readEde(option);
  if (error === null) return [];
  const name = edeName(error.infoCode)
    .toLowerCase()
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');
  return [`EDE(${error.infoCode}): ${name}${error.text === '' ? '' : `: ${error.text}`}`];
}
