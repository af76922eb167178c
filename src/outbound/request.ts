import { realTimers } from '../base/lifecycle/timers.ts';

/** Why there is no response. A closed set, so that no text of the peer gets into logs. */
const OUTBOUND_FAULTS = [
  'timeout',
  'dns_failure',
  'connection_failed',
  'tls_error',
  'blocked_address',
  'too_large',
  // The outbound thread ended: the request may or may not have been sent.
  'interrupted',
] as const;
export type OutboundFault = (typeof OUTBOUND_FAULTS)[number];

export interface OutboundResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

export interface OutboundFailure {
  readonly kind: 'failed';
  readonly fault: OutboundFault;
}

export type OutboundResult = OutboundResponse | OutboundFailure;

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Names in lower case. The client adds `host` and `content-length`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Maximum octets of the body; more is `too_large`. 0: the socket closes after the head. */
  readonly maxBytes: number;
}

/** One deadline for several steps. Without `release` a timer and a listener leak. */
interface Deadline {
  readonly signal: AbortSignal;
  readonly endsAt: number;
  readonly release: () => void;
}

export function deadline(ms: number, outer: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const cancel = realTimers.after(ms, abort);
  if (outer?.aborted) abort();
  outer?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    endsAt: realTimers.elapsed() + ms,
    release: () => {
      cancel();
      outer?.removeEventListener('abort', abort);
    },
  };
}

export const RETRY_AFTER_MAX = 86_400;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY = 'Mon|Tue|Wed|Thu|Fri|Sat|Sun';
const LONG_DAY = 'Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`;

/** The three forms of a date in HTTP (RFC 9110 §5.6.7): IMF-fixdate, that of RFC 850, and that of asctime. */
const FORMS = [
  new RegExp(String.raw`^(?:${DAY}), (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} GMT$`),
  new RegExp(String.raw`^(?:${LONG_DAY}), (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT$`),
  new RegExp(String.raw`^(?:${DAY}) ${MONTH} (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`),
];

/** RFC 9110 §10.2.3. @returns whole seconds, 0 to `RETRY_AFTER_MAX`; 0 for a date in the past; null when invalid */
export function parseRetryAfter(value: string, now: number): number | null {
  const text = value.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text), RETRY_AFTER_MAX);
  const at = parseHttpDate(text, now);
  if (at === null) return null;
  return Math.min(Math.max(0, Math.ceil((at - now) / 1000)), RETRY_AFTER_MAX);
}

/** The name of the day is not checked. @param now decides the century of a year with two digits. Milliseconds */
function parseHttpDate(text: string, now: number): number | null {
  for (const form of FORMS) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const { day, month = '', year = '', hour, minute, second } = groups;
    const date = { day: Number(day), month: MONTHS.indexOf(month), year: fullYear(year, now) };
    const time = { hour: Number(hour), minute: Number(minute), second: Number(second) };
    const midnight = Date.UTC(date.year, date.month, date.day);
    // Date.UTC rolls 31 April over into May. Second 60 is a leap second.
    if (new Date(midnight).getUTCDate() !== date.day) return null;
    if (time.hour > 23 || time.minute > 59 || time.second > 60) return null;
    return midnight + ((time.hour * 60 + time.minute) * 60 + time.second) * 1000;
  }
  return null;
}

/** A two-digit year more than 50 years ahead is in the past century (RFC 9110 §5.6.7). */
function fullYear(digits: string, now: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}
