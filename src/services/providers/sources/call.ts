import type { OutboundClient } from '../../../outbound/outbound-client.ts';
import { type OutboundResponse, parseRetryAfter } from '../../../outbound/request.ts';
import { UNUSABLE } from './source.ts';

/** A response, classified by its status. */
export type Called =
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
