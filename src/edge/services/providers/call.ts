import type { OutboundClient } from '../../../outbound/outbound-client.ts';
import type { OutboundResponse } from '../../../outbound/request.ts';

/** What came back, judged by its status alone. */
export type Called =
  | { readonly kind: 'body'; readonly text: string; readonly headers: OutboundResponse['headers'] }
  | { readonly kind: 'unchanged'; readonly headers: OutboundResponse['headers'] }
  | { readonly kind: 'missing' }
  | { readonly kind: 'limited'; readonly waitMs: number }
  | { readonly kind: 'failed' };

/** Largest response, octets: some five times that of the largest that any provider sends. */
const RESPONSE_MAX = 262_144;
/** When a provider says 429 and not how long, milliseconds. */
const WAIT_MS = 60_000;
const WAIT_MIN_MS = 1000;

interface CallOptions {
  readonly door: OutboundClient;
  /** Who we are; some providers refuse the anonymous. */
  readonly agent: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses by which this provider says that there is no such thing. */
  readonly missing?: readonly number[];
}

/** One GET. Never rejects. */
export async function call(url: string, options: CallOptions): Promise<Called> {
  const { door, agent, now, headers = {}, missing = [] } = options;
  const result = await door({
    method: 'GET',
    url: new URL(url),
    headers: { accept: '*/*', 'user-agent': agent, ...headers },
    maxBytes: RESPONSE_MAX,
  });
  if (result.kind === 'failed') return { kind: 'failed' };
  const { status } = result;
  // 203: MET Norway says so that a version is about to end.
  if (status === 200 || status === 203) return read(result);
  if (status === 304) return { kind: 'unchanged', headers: result.headers };
  if (status === 429) return { kind: 'limited', waitMs: waitOf(result.headers['retry-after'], now) };
  return missing.includes(status) ? { kind: 'missing' } : { kind: 'failed' };
}

function read({ headers, body }: OutboundResponse): Called {
  const encoding = headers['content-encoding'];
  // We asked for none: what is compressed all the same cannot be bounded by its size.
  if (encoding !== undefined && encoding !== 'identity') return { kind: 'failed' };
  return { kind: 'body', text: body.toString('utf8'), headers };
}

/** `Retry-After` as seconds or as a date (RFC 9110 §10.2.3). */
function waitOf(value: string | readonly string[] | undefined, now: number): number {
  if (typeof value !== 'string') return WAIT_MS;
  const wait = /^[0-9]{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(wait) ? WAIT_MS : Math.max(WAIT_MIN_MS, wait);
}

/** The header's time (RFC 9110 §5.6.7); undefined when there is none, or it is none. */
export function timeOf(header: string | readonly string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined;
  const time = Date.parse(header);
  return Number.isNaN(time) ? undefined : time;
}

/** `base` without its last slash, and the path behind it. */
export function join(base: string, path: string): string {
  return base.replace(/\/+$/, '') + path;
}
