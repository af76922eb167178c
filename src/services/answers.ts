import { randomInt } from 'node:crypto';
import { ENVELOPE_VERSION } from '../base/brand.ts';
import { type EnvelopeErrorCode, errorEnvelope } from '../protocol/query/envelope.ts';
import { FOREVER, type MalformedCause, type Outcome } from '../protocol/query/outcome.ts';

/** TTL of an error envelope, seconds. Rate limits and timeouts have 0. */
const ERROR_TTL = 30;
/** `until` of an answer that is not cached, also where the clock is set back. */
const NEVER_KEPT = 0;

interface AnswerTimes {
  /** RR TTL, seconds. */
  readonly ttl: number;
  readonly now: number;
  /** Milliseconds since the epoch at which the values change. Default: after the TTL. */
  readonly until?: number;
  readonly stale?: boolean;
  /** Time of the values, for `ts`, milliseconds since the epoch. Default: now. */
  readonly at?: number;
}

/** A computed answer. `ts` is the last field. */
export function answered(fields: FlatFields, { ttl, now, until, stale, at = now }: AnswerTimes): Outcome {
  return {
    kind: 'answer',
    text: flatEnvelope({ ...fields, ts: Math.floor(at / 1000) }),
    ttl,
    until: until ?? now + ttl * 1000,
    ...(stale === true ? { stale } : {}),
  };
}

/** An answer that never changes: it has no `ts`. */
export function constant(fields: FlatFields, ttl: number): Outcome {
  return { kind: 'answer', text: flatEnvelope(fields), ttl, until: FOREVER };
}

/** An answer that is true at this moment only, or of chance: TTL 0, and no cache keeps it. */
export function momentary(fields: FlatFields, now: number): Outcome {
  return answered(fields, { ttl: 0, now, until: NEVER_KEPT });
}

function errorAnswer(code: EnvelopeErrorCode, now: number): Outcome {
  const text = Buffer.from(errorEnvelope(code));
  return { kind: 'answer', text, ttl: ERROR_TTL, until: now + ERROR_TTL * 1000 };
}

/** E004: the label is valid and nothing has this name. */
export const notFoundAnswer = (now: number): Outcome => errorAnswer('E004', now);
/** E011: the provider is too slow. The fetch continues, so a later query finds its value. */
export function timedOut(now: number): Outcome {
  return { kind: 'answer', text: Buffer.from(errorEnvelope('E011')), ttl: 0, until: now };
}
export const notEnabled = (now: number): Outcome => errorAnswer('E013', now);

/** E010. @param retryAfter whole seconds, at least 1 */
export function rateLimited(retryAfter: number, now: number): Outcome {
  const text = Buffer.from(errorEnvelope('E010', Math.max(1, Math.ceil(retryAfter))));
  return { kind: 'answer', text, ttl: 0, until: now };
}

/** FORMERR without an envelope: labels outside the grammar. The cause is sent as an extended error. */
export function malformedAnswer(cause: MalformedCause): Outcome {
  return { kind: 'malformed', code: 'E005', cause };
}

/** FORMERR with envelope E005 (docs/SERVICES.md, stock). */
export function malformedWithEnvelope(cause: MalformedCause, until: number): Outcome {
  return { kind: 'malformed', code: 'E005', cause, text: Buffer.from(errorEnvelope('E005')), until };
}

/** SERVFAIL: all sources are down and the cache is empty. Resolvers do not forward its envelope E009. */
export const PROVIDER_DOWN: Outcome = {
  kind: 'failed',
  cause: 'provider',
  text: Buffer.from(errorEnvelope('E009')),
};

/**
 * A whole number of `min` to `max`, each with the same chance: crypto.randomInt repeats a draw that would be biased. The two
 * lie less than 2^48 apart, or it throws.
 */
export function draw(min: number, max: number): number {
  return randomInt(min, max + 1);
}

/** A whole number of a label: `n` before it is the minus sign, as in `units`. */
const INTEGER = /^([n-]?)(0|[1-9][0-9]*)$/;

/**
 * Parses digits without leading zeros. A hyphen is a minus sign too, which only a `b32-` or `hex-` label can begin with.
 * @param digits the most that there may be; 15 are exact
 * @returns null outside the grammar
 */
export function parseInteger(text: string, digits: number): number | null {
  const match = INTEGER.exec(text);
  if (match === null || match[2]!.length > digits) return null;
  const size = Number(match[2]);
  return match[1] === '' || size === 0 ? size : -size;
}

/** Numbers are printed as plain decimals; undefined omits the field. */
export type FlatValue = string | number | undefined;

export type FlatFields = Readonly<Record<string, FlatValue>>;

const HEAD = `v=${ENVELOPE_VERSION};s=ok;t=data`;
const NAME = /^[a-z][a-z0-9]*$/;
/** Characters that end a field, start an escape, or are not printable ASCII. */
const UNSAFE = /[^\x20-\x24\x26-\x3a\x3c-\x7e]/gu;
export const PERCENT_PLACES = 2;

/**
 * The TXT value of a computed answer. `;`, `%`, control characters and non-ASCII text are percent-encoded as UTF-8 (RFC
 * 3986 §2.1). Throws RangeError for an invalid field name or a number that is not finite.
 */
export function flatEnvelope(fields: FlatFields): Buffer {
  let text = HEAD;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (!NAME.test(name)) throw new RangeError('not a field name');
    text += `;${name}=${typeof value === 'number' ? decimal(value) : escaped(value)}`;
  }
  return Buffer.from(text, 'latin1');
}

function escaped(text: string): string {
  // A lone surrogate has no UTF-8 form.
  return text.toWellFormed().replace(UNSAFE, percentEncoded);
}

function percentEncoded(character: string): string {
  let out = '';
  for (const octet of Buffer.from(character, 'utf8')) {
    out += `%${octet.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

export function unescaped(value: string): string {
  return value.includes('%') ? decodeURIComponent(value) : value;
}

/** The shortest decimal that parses to the same number, without exponent or `-0`. */
export function decimal(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError('not a finite number');
  const text = String(value === 0 ? 0 : value);
  const at = text.indexOf('e');
  if (at < 0) return text;
  const exponent = Number(text.slice(at + 1));
  const [whole = '', fraction = ''] = text.slice(0, at).split('.');
  if (exponent > 0) return whole + fraction.padEnd(exponent, '0');
  const sign = whole.startsWith('-') ? '-' : '';
  return `${sign}0.${'0'.repeat(-exponent - 1)}${whole.slice(sign.length)}${fraction}`;
}

/** Rounded to `places` decimals; never `-0`. */
export function rounded(value: number, places: number): number {
  return Number(value.toFixed(places)) + 0;
}
