/** One question for the pages of visitors: asked over HTTPS at the own origin, decoded, and its signatures checked in the page. */
import {
  type AnswerResult,
  algorithmName,
  checkAnswer,
  checkKeys,
  type DnsMessage,
  decodeMessage,
  encodeQuery,
  exchange,
  nameFromText,
  rcodeName,
  readEnvelope,
  recordsIn,
  ServiceError,
  txtOf,
  typeOf,
} from '../../../sdk/src/dns.ts';
import { latin1Of } from '../../../src/protocol/encodings.ts';

/**
 * Why there is no value. `away`: a source of the data does not answer now, or the service is off. `nothing`: there is nothing of this name.
 * `malformed`: the name has no meaning here. `refused`: the server does not say why. `failed`: any other code.
 */
export type Problem = 'away' | 'nothing' | 'malformed' | 'refused' | 'failed';

export interface FrontAnswer {
  readonly name: string;
  /** Fields of a computed answer; null where there is a problem, or data of another form. */
  readonly fields: ReadonlyMap<string, string> | null;
  /** The TXT value as it came; null without one. */
  readonly text: string | null;
  /** What the answer stores, where it is text. */
  readonly data: string | null;
  readonly problem: Problem | null;
  /** Such as `NOERROR`. */
  readonly code: string;
  /** Seconds; null without records. */
  readonly ttl: number | null;
  /** Milliseconds from the question to the answer. */
  readonly ms: number;
}

export interface CheckedAnswer extends FrontAnswer {
  /** `unsigned` also for failures, which are never signed. */
  readonly result: AnswerResult;
  readonly signatures: readonly { readonly algorithm: string; readonly isValid: boolean }[];
}

/** Codes of errors that pass, or that an operator has chosen. */
const AWAY: ReadonlySet<string> = new Set(['E009', 'E010', 'E011', 'E013']);

interface Came {
  readonly query: Uint8Array<ArrayBuffer>;
  readonly octets: Uint8Array<ArrayBuffer>;
  readonly ms: number;
}

async function send(name: string, type: string, dnssecOk: boolean, signal?: AbortSignal): Promise<Came> {
  const query = encodeQuery(name, { type: typeOf(type) ?? 0, dnssecOk });
  const began = performance.now();
  const octets = await exchange('/dns-query', query, signal === undefined ? {} : { signal });
  return { query, octets, ms: performance.now() - began };
}

/** @throws Unavailable when no reply comes, RangeError for octets that are none or a text that is no name */
export async function askServer(name: string, signal?: AbortSignal): Promise<FrontAnswer> {
  const came = await send(name, 'TXT', false, signal);
  return read(name, decodeMessage(came.octets), came.ms);
}

/**
 * Asks, and checks the signatures with the keys of the zone, which are asked for at the same time.
 * @param zone null: the name is in no zone of this server
 * @throws as `askServer`
 */
export async function askChecked(
  name: string,
  zone: string | null,
  signal?: AbortSignal,
): Promise<CheckedAnswer> {
  const keysComing = zone === null ? null : send(zone, 'DNSKEY', true, signal);
  // Its fault is reported where it is awaited, after the question's own.
  keysComing?.catch(() => undefined);
  const { query, octets, ms } = await send(name, 'TXT', true, signal);
  const message = decodeMessage(octets);
  const answer = read(name, message, ms);
  if (message.rcode !== 0 || keysComing === null || zone === null)
    return { ...answer, result: 'unsigned', signatures: [] };
  const keysCame = await keysComing;
  const keys = await checkKeys(decodeMessage(keysCame.octets), nameFromText(zone), {
    query: decodeMessage(keysCame.query),
    isDirect: true,
  });
  const { result, signatures } = await checkAnswer(message, keys, {
    query: decodeMessage(query),
    isDirect: true,
  });
  // A proof that there is nothing has signatures over several records: each kind of key once, and valid only if all are.
  const byAlgorithm = new Map<string, boolean>();
  for (const { rrsig, isValid } of signatures) {
    const algorithm = algorithmName(rrsig.algorithm);
    byAlgorithm.set(algorithm, isValid && byAlgorithm.get(algorithm) !== false);
  }
  return {
    ...answer,
    result,
    signatures: [...byAlgorithm].map(([algorithm, isValid]) => ({ algorithm, isValid })),
  };
}

function read(name: string, message: DnsMessage, ms: number): FrontAnswer {
  const code = rcodeName(message.rcode);
  const records = recordsIn(message, 'answer');
  const values = records.flatMap((record) => {
    const txt = txtOf(record);
    return txt === null ? [] : [{ text: latin1Of(txt), ttl: record.ttl }];
  });
  const [first] = values;
  const empty = { name, code, ms, fields: null, data: null };
  if (first === undefined) return { ...empty, text: null, ttl: null, problem: problemOf(code, null) };
  const { text, ttl } = first;
  try {
    const { fields, data } = readEnvelope(text);
    if (data !== null)
      return { ...empty, text, ttl, data: new TextDecoder().decode(data), problem: problemOf(code, '') };
    return { ...empty, text, ttl, fields, problem: problemOf(code, '') };
  } catch (error) {
    const problem = problemOf(code, error instanceof ServiceError ? error.code : '');
    // A TXT record of another form is shown as it is.
    return { ...empty, text, ttl, data: problem === null ? text : null, problem };
  }
}

/** @param error of the envelope: its code, empty without an error; null: there is no envelope */
function problemOf(code: string, error: string | null): Problem | null {
  if (error !== null && AWAY.has(error)) return 'away';
  if (code === 'SERVFAIL') return 'away';
  if (code === 'FORMERR' || error === 'E005') return 'malformed';
  if (code === 'REFUSED') return 'refused';
  if (error === 'E004' || (code === 'NOERROR' && error === null)) return 'nothing';
  return code === 'NOERROR' && error === '' ? null : 'failed';
}

/** The zone that a name lies in; null: none of the server's. */
export function zoneWith(name: string, zones: readonly string[]): string | null {
  const folded = name.toLowerCase().replace(/\.$/, '');
  return zones.find((zone) => folded === zone || folded.endsWith(`.${zone}`)) ?? null;
}
