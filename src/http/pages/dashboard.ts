/** The dashboard on the port of the REST API. */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { addressSet } from '../../base/network/address.ts';
import { isNotModified } from '../request.ts';
import { hasSessionCookie } from '../session-cookie.ts';
import type { DocumentPages } from './documents.ts';
import { bestCoding, type DashboardFile, type DashboardFiles, textFile } from './files.ts';
import { type FrontFacts, openFront } from './front.ts';

/** Which requests are for a page of the dashboard: it has one document, which shows the screen of its path. */

/** First segments of the dashboard's paths. A test compares them with its table of routes. */
export const PAGES: ReadonlySet<string> = new Set([
  '',
  'account',
  'api',
  'api-keys',
  'audit',
  'datasets',
  'namespaces',
  'organization',
  'playground',
  'query-log',
  'records',
  'services',
  'sign-in',
  'usage',
  'webhooks',
]);

/** First segments that belong to programs, whatever a client accepts. */
const NOT_PAGES: ReadonlySet<string> = new Set([
  'assets',
  'dns-query',
  'docs',
  'flags',
  'livez',
  'metrics',
  'ofrep',
  'readyz',
  'resolve',
  'schema',
]);

/** `page`: text/html by name. `any`: everything, as programs say that do not care. */
type Accepts = 'page' | 'any' | 'other';

/** @param header `Accept` */
export function acceptsOf(header: string | undefined): Accepts {
  if (header === undefined) return 'any';
  const types = header
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';', 1)[0]!.trim());
  if (types.includes('text/html') || types.includes('application/xhtml+xml')) return 'page';
  return types.includes('*/*') || types.includes('text/*') ? 'any' : 'other';
}

/**
 * A browser gets the document at every path without a dot: the dashboard says that it has no such page. Other clients get it where there
 * is a page, and elsewhere the API's 404.
 * @param path without its query
 */
export function isPage(path: string, accepts: Accepts): boolean {
  if (!path.startsWith('/') || path.includes('.') || accepts === 'other') return false;
  const [first = '', ...rest] = path.slice(1).split('/');
  // `/api` is the reference of the API; below it is the API.
  if (NOT_PAGES.has(first) || (first === 'api' && rest.length > 0)) return false;
  return accepts === 'page' || (PAGES.has(first) && !path.startsWith('//'));
}

type Versioned = Pick<IncomingMessage, 'headers' | 'httpVersionMinor'>;

const isLoopback = addressSet(['127.0.0.0/8', '::1']);
/** An address in `Host`, and the port. */
const ADDRESS_HOST = /^(?:\[(?<v6>[0-9a-f:.]+)\]|(?<v4>[0-9.]+))(?<port>:\d{1,5})?$/i;

interface LocalRequest {
  /** The `Host` header. */
  readonly host: string | undefined;
  /** Of the peer. */
  readonly remoteAddress: string | undefined;
  readonly isForwarded: boolean;
}

/** What proxies add. nginx adds none of them by itself, but speaks HTTP/1.0 then. */
const FORWARDED = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
];

/** Whether a proxy passed the request on. No browser speaks HTTP/1.0. */
export function isForwarded({ headers, httpVersionMinor }: Versioned): boolean {
  return httpVersionMinor === 0 || FORWARDED.some((name) => headers[name] !== undefined);
}

/**
 * The origin to use in place of `http://127.0.0.1:PORT`: browsers refuse passkeys at an address.
 * @param publicUrl a sign-in succeeds at no other origin
 * @returns null unless the client is on this machine, named it by its loopback address, and `publicUrl` has that origin
 */
export function localhostOrigin(
  { host, remoteAddress, isForwarded }: LocalRequest,
  publicUrl: string,
): string | null {
  // Behind a proxy on this machine the client may be anywhere.
  if (isForwarded || remoteAddress === undefined || !isLoopback(remoteAddress)) return null;
  const { v4, v6, port = '' } = ADDRESS_HOST.exec(host ?? '')?.groups ?? {};
  const address = v4 ?? v6;
  if (address === undefined || !isLoopback(address)) return null;
  const local = `http://localhost${port}`;
  return URL.parse(local)?.origin === new URL(publicUrl).origin ? local : null;
}

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

const NOT_BUILT = textFile(
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The dashboard is not built - uqrp</title>
<h1>The dashboard is not built</h1>
<p>Everything else runs: the REST API is at <code>/api/v1</code>.</p>
<p>In a checkout, run this and restart the server:</p>
<pre>npm ci
node dashboard/build.ts</pre>
`,
  'text/html; charset=utf-8',
);

/** `/` with this query is the page of visitors, whatever the cookies say. The dashboard leads there when a session has ended. */
const LANDING_QUERY = '?visitor';

/**
 * @param built null: the pages say how to build it
 * @param publicUrl origin under which browsers reach this server
 * @param documents null: they are not built
 */
export function serveDashboard(
  built: DashboardFiles | null,
  publicUrl: () => string,
  facts: FrontFacts,
  documents: DocumentPages | null = null,
): Serve {
  const front = built === null ? null : openFront(built, publicUrl, facts);
  return async (request, reply) => {
    if (!SAFE.has(request.method)) return null;
    const path = request.url.split('?', 1)[0]!;
    const file = built?.files.get(path) ?? front?.file(path) ?? null;
    if (file !== null) {
      await send(request, reply, file, 200);
      return '/assets/*';
    }
    if (documents !== null) {
      const found = await documents.find(path);
      if (found?.status === 302)
        reply.headers(HEADERS).header('cache-control', REVALIDATED).redirect(found.to);
      else if (found !== null) await send(request, reply, found.file, found.status);
      if (found !== null) return '/docs/*';
    } else if (path === '/docs' || path.startsWith('/docs/')) {
      await send(request, reply, NOT_BUILT, 503);
      return '/docs/*';
    }
    const accepts = acceptsOf(request.headers.accept);
    if (!isPage(path, accepts)) return null;
    // What is sent depends on it, and so does whether a redirect is.
    reply.header('vary', 'accept, accept-encoding, cookie');
    const local = accepts === 'page' ? localOrigin(request, publicUrl()) : null;
    if (local !== null)
      reply.headers(HEADERS).header('cache-control', 'no-store').redirect(`${local}${request.url}`);
    else if (front === null) await send(request, reply, NOT_BUILT, 503);
    else {
      const isGuest = !hasSessionCookie(request);
      const asksForLanding = request.url === `/${LANDING_QUERY}`;
      await send(request, reply, front.page({ path, isGuest, asksForLanding }), 200);
    }
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
