import type { OutboundClient } from '../../outbound/outbound-client.ts';
import { type OutboundResponse, parseRetryAfter } from '../../outbound/request.ts';

/** Each provider has a separate budget and breaker. */
export const SOURCES = [
  'openmeteo',
  'metno',
  'frankfurter',
  'ecb',
  'coinbase',
  'kraken',
  'twelvedata',
  'finnhub',
] as const;
export type SourceName = (typeof SOURCES)[number];

/** Base URL of a provider; null: not used. */
type Base = string | null;

export interface KeyedEndpoint {
  readonly base: string;
  readonly key: string;
}

export interface Endpoints {
  readonly openmeteo: Base;
  readonly metno: Base;
  readonly frankfurter: Base;
  readonly ecb: Base;
  readonly coinbase: Base;
  readonly kraken: Base;
  /** Null without a key. */
  readonly twelvedata: KeyedEndpoint | null;
  readonly finnhub: KeyedEndpoint | null;
}

/** The provider's limit on calls in any period of this length. `budget.ts` uses 90 % of it. */
export interface RateLimit {
  readonly calls: number;
  readonly perMs: number;
}

export type Fetched<T> =
  | {
      readonly kind: 'value';
      readonly value: T;
      /** The source's time of the value, milliseconds since the epoch, if it sends one. */
      readonly time?: number | undefined;
      /** No call before this time, milliseconds since the epoch. */
      readonly notBefore?: number | undefined;
      /** Sent with the next call, so that the provider can answer 304 (RFC 9110 §13.1.3). */
      readonly validator?: string | undefined;
    }
  /** The value of the previous call is still valid. */
  | { readonly kind: 'unchanged'; readonly notBefore?: number | undefined }
  | { readonly kind: 'missing' }
  /** The provider asked for a pause, milliseconds. */
  | { readonly kind: 'limited'; readonly waitMs: number }
  /** Unreachable, too slow, or an unexpected response. `hasAnswered`: only this key has no value, others may have one. */
  | { readonly kind: 'failed'; readonly hasAnswered?: boolean };

/**
 * The source is there, but said nothing usable about this key. Anybody may ask for such keys, so they say nothing of the source: its
 * breaker stays closed for the others.
 */
export const UNUSABLE = { kind: 'failed', hasAnswered: true } as const satisfies Fetched<never>;

/** For data without a value. @param data undefined: it was not even JSON, as where a page of a proxy answers in place of the source */
export function unusable(data: unknown): Fetched<never> {
  return data === undefined ? { kind: 'failed' } : UNUSABLE;
}

/** Called after each call to a provider. Calls that budget or breaker blocked are not reported. */
export type OnCall = (source: SourceName, outcome: Fetched<unknown>['kind']) => void;

export interface SourceContext {
  readonly outbound: OutboundClient;
  readonly agent: string;
}

export interface Source<T> {
  readonly name: SourceName;
  readonly limits: readonly RateLimit[];
  /**
   * Milliseconds, where the value depends on the time at which a response is read: a validator is sent within the same step of this length
   * alone. After it an unchanged response has another value.
   */
  readonly stepMs?: number;
  /** `key` in the spelling of the feed; `validator` of the cached value, if from this source; `now` in ms since the epoch. */
  load(key: string, validator: string | null, now: number): Promise<Fetched<T>>;
}

/** A response, classified by its status. */
type Called =
  | { readonly kind: 'body'; readonly text: string; readonly headers: OutboundResponse['headers'] }
  | { readonly kind: 'unchanged'; readonly headers: OutboundResponse['headers'] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'limited'; readonly waitMs: number }
  | { readonly kind: 'failed'; readonly hasAnswered?: boolean };

/** Largest response, octets: about five times the largest that a provider sends. */
const RESPONSE_MAX = 262_144;
/** Wait after a 429 without a usable `Retry-After`, milliseconds. */
const WAIT_MS = 60_000;
const WAIT_MIN_MS = 1000;
/** Statuses that are about what was asked for, and not about the source or our account there, as 401 and 403 mostly are. */
const REFUSES_KEY: ReadonlySet<number> = new Set([400, 404, 410, 422]);

interface CallOptions {
  readonly outbound: OutboundClient;
  /** Some providers refuse requests without a `User-Agent`. */
  readonly agent: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses by which this provider reports that nothing exists. */
  readonly missing?: readonly number[];
}

/** One GET. Never rejects. */
export async function call(url: string, options: CallOptions): Promise<Called> {
  const { outbound, agent, now, headers = {}, missing = [] } = options;
  const result = await outbound({
    method: 'GET',
    url: new URL(url),
    headers: { accept: '*/*', 'user-agent': agent, ...headers },
    maxBytes: RESPONSE_MAX,
  });
  if (result.kind === 'failed') return { kind: 'failed' };
  const { status } = result;
  // MET Norway sends 203 before it retires an API version.
  if (status === 200 || status === 203) return read(result);
  if (status === 304) return { kind: 'unchanged', headers: result.headers };
  if (status === 429) return { kind: 'limited', waitMs: waitOf(result.headers['retry-after'], now) };
  if (missing.includes(status)) return { kind: 'missing' };
  return REFUSES_KEY.has(status) ? UNUSABLE : { kind: 'failed' };
}

function read({ headers, body }: OutboundResponse): Called {
  const encoding = headers['content-encoding'];
  // No encoding was requested, and the size limit applies to the decoded body.
  if (encoding !== undefined && encoding !== 'identity') return { kind: 'failed' };
  return { kind: 'body', text: body.toString('utf8'), headers };
}

/** Milliseconds to wait, from `Retry-After`. */
function waitOf(value: string | readonly string[] | undefined, now: number): number {
  const seconds = typeof value === 'string' ? parseRetryAfter(value, now) : null;
  return seconds === null ? WAIT_MS : Math.max(WAIT_MIN_MS, seconds * 1000);
}

/** The HTTP date (RFC 9110 §5.6.7); undefined when missing or invalid. */
export function timeOf(header: string | readonly string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined;
  const time = Date.parse(header);
  return Number.isNaN(time) ? undefined : time;
}

export function join(base: string, path: string): string {
  return base.replace(/\/+$/, '') + path;
}

/** Above any plausible price, rate or volume; beyond 2^53 digits are lost. */
const MAGNITUDE_MAX = 1e15;
const DECIMAL = /^-?[0-9]{1,16}(?:\.[0-9]{1,18})?$/;
/** The year 9999, seconds since the epoch. */
const SECONDS_MAX = 253_402_300_799;
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

/** The member of a JSON value along a path; undefined if missing. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here: unknown = value;
  for (const step of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}

/** A JSON number, or a plain decimal in a string; else null. */
export function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return null;
  return Math.abs(number) < MAGNITUDE_MAX ? number : null;
}

/** As `numberOf`, within the bounds. */
export function within(value: unknown, min: number, max: number): number | null {
  const number = numberOf(value);
  return number !== null && number >= min && number <= max ? number : null;
}

export function positive(value: unknown): number | null {
  const number = numberOf(value);
  return number !== null && number > 0 ? number : null;
}

/** Seconds since the epoch as milliseconds; undefined when invalid. */
export function secondsOf(value: unknown): number | undefined {
  const seconds = within(value, 1, SECONDS_MAX);
  return seconds === null ? undefined : seconds * 1000;
}

function placesOf(value: unknown): number {
  const text = String(value);
  const point = text.indexOf('.');
  return point < 0 || text.includes('e') ? 0 : text.length - point - 1;
}

/** `value - other` without binary rounding errors: with the decimals of the longer of the two. */
export function difference(value: unknown, other: unknown): number | null {
  const a = numberOf(value);
  const b = numberOf(other);
  if (a === null || b === null) return null;
  const places = Math.min(18, Math.max(placesOf(value), placesOf(other)));
  const result = a - b;
  return places === 0 ? Number(result.toPrecision(12)) : Number(result.toFixed(places));
}

/** An existing date as `YYYY-MM-DD`; else null. */
export function dateOf(value: unknown): string | null {
  if (typeof value !== 'string' || !DATE.test(value)) return null;
  const time = Date.parse(`${value}T00:00:00Z`);
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== value ? null : value;
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
