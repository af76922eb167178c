/** The dashboard on the port of the REST API. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isNotModified } from '../api/requests/preconditions.ts';
import { hasSessionCookie } from '../api/requests/session-cookie.ts';
import { bestCoding } from './content-coding.ts';
import { type DashboardFile, type DashboardFiles, pageOf } from './files.ts';
import { isForwarded, localhostOrigin } from './local-address.ts';
import { acceptsOf, isPage } from './page-paths.ts';

/** @returns the route's template for metrics; null: the request is not for the dashboard, and nothing was sent */
type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<string | null>;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** On every answer: a file that is opened by itself is a document too. */
const HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'publickey-credentials-get=(self)',
  'x-content-type-options': 'nosniff',
};
const YEAR_SECONDS = 31_536_000;
const IMMUTABLE = `public, max-age=${YEAR_SECONDS}, immutable`;
/** Kept, but asked for again before each use. */
const REVALIDATED = 'no-cache';
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

const NOT_BUILT = pageOf(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The dashboard is not built - uqrp</title>
<h1>The dashboard is not built</h1>
<p>Everything else runs: the REST API is at <code>/api/v1</code>.</p>
<p>In a checkout, run this and restart the server:</p>
<pre>npm ci
node dashboard/build.ts</pre>
`);

/**
 * @param built null: the pages say how to build it
 * @param publicUrl origin under which browsers reach this server
 */
export function serveDashboard(built: DashboardFiles | null, publicUrl: () => string): Serve {
  return async (request, reply) => {
    if (!SAFE.has(request.method)) return null;
    const path = request.url.split('?', 1)[0]!;
    const file = built?.files.get(path);
    if (file !== undefined && file !== built?.shell) {
      await send(request, reply, file, 200);
      return '/assets/*';
    }
    const accepts = acceptsOf(request.headers.accept);
    if (!isPage(path, accepts)) return null;
    // What is sent depends on it, and so does whether a redirect is.
    reply.header('vary', 'accept, accept-encoding, cookie');
    const local = accepts === 'page' ? localOrigin(request, publicUrl()) : null;
    if (local !== null)
      reply.headers(HEADERS).header('cache-control', 'no-store').redirect(`${local}${request.url}`);
    else if (built === null) await send(request, reply, NOT_BUILT, 503);
    else await send(request, reply, hasSessionCookie(request) ? built.shell : built.guestShell, 200);
    return '/*';
  };
}

function localOrigin({ headers, socket, raw }: FastifyRequest, publicUrl: string): string | null {
  const { remoteAddress } = socket;
  return localhostOrigin({ host: headers.host, remoteAddress, isForwarded: isForwarded(raw) }, publicUrl);
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  file: DashboardFile,
  status: number,
): Promise<void> {
  const coding = file.isCompressible ? bestCoding(request.headers['accept-encoding']) : 'identity';
  reply.headers(HEADERS).header('cache-control', file.isImmutable ? IMMUTABLE : REVALIDATED);
  if (status === 200) {
    // One tag for each coding: they are not the same octets (RFC 9110 §8.8.3).
    const tag = coding === 'identity' ? file.tag : file.tag.replace(/"$/, `-${coding}"`);
    reply.header('etag', tag);
    if (isNotModified(request, tag)) {
      void reply.code(304).send();
      return;
    }
  }
  if (!reply.hasHeader('vary')) reply.header('vary', 'accept-encoding');
  if (coding !== 'identity') reply.header('content-encoding', coding);
  void reply
    .code(status)
    .type(file.type)
    .send(await file.octets(coding));
}
