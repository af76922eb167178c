import type { FastifyReply, FastifyRequest } from 'fastify';
import { forbidden } from '../base/errors.ts';

/**
 * `session`: the token of a session. `flow`: of the code that the browser asked for last. `browser`: the secret by which a browser is
 * known from which somebody has signed in.
 */
type CookieKind = 'session' | 'flow' | 'browser';

/** A prefix that browsers enforce: secure, this host alone, every path (RFC 6265bis §4.1.3.2). It needs https. */
const SECURE_PREFIX = '__Host-';

/** The name of the cookie of a session where the public URL is https. */
export const SECURE_NAME = `${SECURE_PREFIX}uqrp_session`;

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** `none`: the user typed the address, or opened a bookmark. */
const OWN_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:');
}

function cookieName(publicUrl: string, kind: CookieKind): string {
  return `${isSecure(publicUrl) ? SECURE_PREFIX : ''}uqrp_${kind}`;
}

function header(publicUrl: string, kind: CookieKind, value: string, seconds: number): string {
  const secure = isSecure(publicUrl) ? '; Secure' : '';
  return `${cookieName(publicUrl, kind)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** @param publicUrl origin under which browsers reach this server. @param seconds for which the browser keeps it */
export function setCookie(
  reply: FastifyReply,
  publicUrl: string,
  kind: CookieKind,
  value: string,
  seconds: number,
): void {
  reply.header('set-cookie', header(publicUrl, kind, value, seconds));
}

export function clearSessionCookie(reply: FastifyReply, publicUrl: string): void {
  reply.header('set-cookie', header(publicUrl, 'session', '', 0));
}

/** Two cookies of the name are none, because servers and proxies disagree which one is meant. */
function cookieValue({ headers }: FastifyRequest, name: string): string | null {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
  const [value] = values;
  return value === undefined || value === '' || values.length > 1 ? null : value;
}

/**
 * The token of the session cookie where it counts: a safe request that no other site made.
 * @returns null without such a cookie
 */
export function cookieToken(request: FastifyRequest, publicUrl: string): string | null {
  const token = cookieValue(request, cookieName(publicUrl, 'session'));
  const isOther = !OWN_SITES.has(request.headers['sec-fetch-site'] as string | undefined);
  return SAFE.has(request.method) && isOther ? null : token;
}

/** A cookie of the sign-in, where a page of ours or a program sends it. @param form what its value must be */
export function signInCookie(
  request: FastifyRequest,
  publicUrl: string,
  kind: 'flow' | 'browser',
  form: RegExp,
): string | null {
  if (isForeignPage(request, publicUrl)) return null;
  const value = cookieValue(request, cookieName(publicUrl, kind));
  return value !== null && form.test(value) ? value : null;
}

/** Whether a request brings a session cookie, of either name. It need not be valid. */
export function hasSessionCookie({ headers }: FastifyRequest): boolean {
  return /(?:^|;)\s*(?:__Host-)?uqrp_session=[^;\s]/.test(headers.cookie ?? '');
}

/** For unsafe requests with a cookie session. @throws AppError 403 unless a page of our own origin made the request */
export function requireOwnOrigin(request: FastifyRequest, publicUrl: string): void {
  if (SAFE.has(request.method)) return;
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (site !== 'same-origin' || origin !== new URL(publicUrl).origin) throw foreignOrigin(publicUrl);
}

/** Whether a page of another origin made a request. Programs send neither header. */
export function isForeignPage({ headers }: FastifyRequest, publicUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers;
  const isOwn = origin === undefined || origin === new URL(publicUrl).origin;
  return !isOwn || (site !== undefined && site !== 'same-origin');
}

/** For a request that asks for a session cookie. @throws AppError 403 for a page of another origin */
export function refuseForeignPage(request: FastifyRequest, publicUrl: string): void {
  if (isForeignPage(request, publicUrl)) throw foreignOrigin(publicUrl);
}

/** Names the address to open: people come here over http by the name or address of the machine. */
function foreignOrigin(publicUrl: string): Error {
  return forbidden(`Requests with a session cookie must come from a page of ${new URL(publicUrl).origin}`);
}
