import { encodeBase64Url, latin1Of } from '../../../src/protocol/encodings.ts';
import { defaultFetch, type Fetch, reasonOf } from '../shared/fetch.ts';
import { Unavailable } from './errors.ts';
import { decodeMessage, encodeQuery, recordsIn } from './message/message.ts';
import { txtOf } from './message/record.ts';
import { NameError } from './name.ts';
import { errorOfRcode, type Transport, type TxtAnswer } from './transport.ts';

/** What a read needs of a reply. */
export interface Reply {
  readonly rcode: number;
  /** Each the joined character strings of one TXT record, one character for each octet. */
  readonly texts: readonly string[];
  /** Least TTL of the TXT records; null without any. */
  readonly ttl: number | null;
  /** Text of the extended error (RFC 8914). */
  readonly detail: string | null;
}

/** @throws RangeError for octets that are no reply */
export function decodeReply(octets: Uint8Array): Reply {
  const message = decodeMessage(octets);
  if (!message.flags.qr) throw new RangeError('not a reply');
  const found = recordsIn(message, 'answer').flatMap((record) => {
    const txt = txtOf(record);
    return txt === null ? [] : [{ ttl: record.ttl, text: latin1Of(txt) }];
  });
  const errors = message.edns?.extendedErrors.filter(({ text }) => text !== '') ?? [];
  return {
    rcode: message.rcode,
    texts: found.map(({ text }) => text),
    ttl: found.length === 0 ? null : Math.min(...found.map(({ ttl }) => ttl)),
    detail: errors.at(-1)?.text ?? null,
  };
}

const MESSAGE = 'application/dns-message';
/** No reply is longer: a DNS message over a stream has a length of two octets. */
const REPLY_MAX = 65_535;
/** A label of a name that holds a token. */
const TOKEN_LABEL = /(?:^|\.)auth-/i;

export interface ExchangeOptions {
  /** Default POST: names, and so tokens, stay out of URLs and their logs (RFC 8484, section 4.1). */
  readonly method?: 'POST' | 'GET' | undefined;
  readonly fetch?: Fetch | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends a DNS message over HTTPS. The reply is not read: it may be anything.
 * @param url such as `https://uqrp.example.net/dns-query`
 * @throws Unavailable when no message comes back; the signal's reason when it aborts; NameError for GET with a name that
 * holds a token
 */
export async function exchange(
  url: string,
  query: Uint8Array<ArrayBuffer>,
  options: ExchangeOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const { method = 'POST', fetch = defaultFetch, signal } = options;
  const shared = { redirect: 'manual' as const, ...(signal === undefined ? {} : { signal }) };
  const response =
    method === 'POST'
      ? await send(
          url,
          { ...shared, method, body: query, headers: { 'content-type': MESSAGE, accept: MESSAGE } },
          fetch,
        )
      : await send(withQuery(url, query), { ...shared, method, headers: { accept: MESSAGE } }, fetch);
  if (response.octets.length > REPLY_MAX) throw new Unavailable('reply too long');
  return response.octets;
}

/** @throws Unavailable, or the signal's reason */
async function send(
  url: string,
  init: RequestInit,
  fetch: Fetch,
): Promise<{ readonly octets: Uint8Array<ArrayBuffer> }> {
  try {
    const response = await fetch(url, init);
    if (response.status !== 200) throw new Unavailable(`HTTP ${response.status}`);
    return { octets: new Uint8Array(await response.arrayBuffer()) };
  } catch (error) {
    if (init.signal?.aborted === true) throw init.signal.reason;
    throw error instanceof Unavailable ? error : new Unavailable(reasonOf(error) ?? 'no connection');
  }
}

function withQuery(url: string, query: Uint8Array): string {
  const name = decodeMessage(query).questions[0]?.name.text ?? '';
  refuseToken(name);
  return `${url}?dns=${encodeBase64Url(query)}`;
}

export interface JsonQuestion {
  readonly name: string;
  /** `TXT`. */
  readonly type: string;
  readonly dnssecOk?: boolean | undefined;
  readonly checkingDisabled?: boolean | undefined;
}

/**
 * Asks for the answer as JSON (docs/PROTOCOL.md).
 * @param url such as `https://uqrp.example.net/resolve`
 * @returns the JSON text
 * @throws as `exchange`
 */
export async function exchangeJson(
  url: string,
  question: JsonQuestion,
  options: Omit<ExchangeOptions, 'method'> = {},
): Promise<string> {
  refuseToken(question.name);
  const query = new URLSearchParams({ name: question.name, type: question.type });
  if (question.dnssecOk === true) query.set('do', '1');
  if (question.checkingDisabled === true) query.set('cd', '1');
  return getText(`${url}?${query.toString()}`, options);
}

/** GET of a text from the server's other endpoints, `/resolve` and `/schema`. */
export async function getText(url: string, options: Omit<ExchangeOptions, 'method'>): Promise<string> {
  const { fetch = defaultFetch, signal } = options;
  const init = { method: 'GET', redirect: 'manual' as const, ...(signal === undefined ? {} : { signal }) };
  return new TextDecoder().decode((await send(url, init, fetch)).octets);
}

function refuseToken(name: string): void {
  if (TOKEN_LABEL.test(name)) throw new NameError('a name with a token must not be part of a URL: use POST');
}

/** Reads of TXT records for `Reader`. */
export function overHttps(url: string, fetch: Fetch): Transport {
  return async (name, deadline) => {
    const { signal } = deadline;
    const lengthening: Fetch = async (...request) => {
      const response = await fetch(...request);
      deadline.lengthen();
      return response;
    };
    return answerOf(parse(await exchange(url, encodeQuery(name), { fetch: lengthening, signal })));
  };
}

function parse(octets: Uint8Array): Reply {
  try {
    return decodeReply(octets);
  } catch {
    throw new Unavailable('not a DNS reply');
  }
}

/** An error envelope may come with any response code, and says more than the code. */
function answerOf({ rcode, texts, ttl, detail }: Reply): TxtAnswer {
  const [text] = texts;
  if (text === undefined) throw errorOfRcode(rcode, detail);
  return { text, ttl };
}
