import type { FastifyReply, FastifyRequest } from 'fastify';
import { forbidden } from '../../../core/errors.ts';
import { SESSION_LENGTH } from '../../accounts/sessions.ts';

/** A prefix that browsers enforce: secure, this host alone, every path (RFC 6265bis §4.1.3.2). It needs https. */
export const SECURE_NAME = '__Host-uqrp_session';
const NAME = 'uqrp_session';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** `none`: the user typed the address, or opened a bookmark. */
const OWN_SITES: ReadonlySet<string | undefined> = new Set([undefined, 'same-origin', 'none']);

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:');
}

function header(publicUrl: string, value: string, seconds: number): string {
  const name = isSecure(publicUrl) ? SECURE_NAME : NAME;
  const secure = isSecure(publicUrl) ? '; Secure' : '';
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** @param publicUrl origin under which browsers reach this server */
export function setSessionCookie(reply: FastifyReply, publicUrl: string, token: string): void {
  reply.header('set-cookie', header(publicUrl, token, SESSION_LENGTH / 1000));
}

export function clearSessionCookie(reply: FastifyReply, publicUrl: string): void {
  reply.header('set-cookie', header(publicUrl, '', 0));
}

/**
 * The token of the session cookie where it counts: a safe request that no other site made. Two cookies of the name are none, because
 * servers and proxies disagree which one is meant.
 * @returns null without such a cookie
 */
export function cookieToken(request: FastifyRequest, publicUrl: string): string | null {
  const name = isSecure(publicUrl) ? SECURE_NAME : NAME;
  const values = (request.headers.cookie ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
    .map((part) => part.slice(name.length + 1));
  const [token] = values;
  if (token === undefined || token === '' || values.length > 1) return null;
  const isOther = !OWN_SITES.has(request.headers['sec-fetch-site'] as string | undefined);
  return SAFE.has(request.method) && isOther ? null : token;
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

/** For a request that would get a cookie. Programs send neither header. @throws AppError 403 for a page of another origin */
export function refuseForeignPage(request: FastifyRequest, publicUrl: string): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const isOwn = origin === undefined || origin === new URL(publicUrl).origin;
  if (!isOwn || (site !== undefined && site !== 'same-origin')) throw foreignOrigin(publicUrl);
}

/** Names the address to open: people come here over http by the name or address of the machine. */
function foreignOrigin(publicUrl: string): Error {
  return forbidden(`Requests with a session cookie must come from a page of ${new URL(publicUrl).origin}`);
}
