import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { sendHead } from '../../http/answers.ts';
import { refuseCoding } from '../../http/json-body.ts';
import type { Budget, Limiter } from '../../http/limiter.ts';
import { isNotModified } from '../../http/request.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import type { ApiDeps } from '../api-deps.ts';
import type { HasChangeReader } from '../changes/api.ts';
import { authorize, authorizeAgain, credentialOf, type FlagAccess, openTickets } from './access.ts';
import { bulkAnswer, evaluation, FlagRefusal, readContext } from './answers.ts';
import { openReadCounts } from './read-counts.ts';
import type { Documents, FlagSource } from './source.ts';
import { openFlagSource } from './store-source.ts';
import { openFlagStreams } from './streams.ts';

export interface FlagRouteDeps extends ApiDeps, HasChangeReader {
  readonly apiKey: Parameters<typeof openFlagSource>[0]['apiKey'];
}

/** No cookie counts, so a page of every origin may ask. */
const CORS = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'ETag, Retry-After' };
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'Authorization, X-API-Key, Content-Type, If-None-Match',
  'access-control-max-age': '86400',
};
const JSON_TYPE = 'application/json; charset=utf-8';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

declare module 'fastify' {
  interface FastifyRequest {
    /** Which flags the request may read; null: not known yet. */
    flagAccess: FlagAccess | null;
  }
}

/**
 * Evaluation of flags: the OpenFeature Remote Evaluation Protocol. Beside `/api/v1`, with credentials, errors and limits of its own.
 * Nothing of a context is logged, kept or repeated.
 */
export function flagRoutes(app: FastifyInstance, deps: FlagRouteDeps): void {
  const onError = deps.onError ?? ((): void => {});
  let opened: Opened | null = null;
  // Nothing follows the log before somebody asks for a flag.
  const open = (): Opened => {
    opened ??= openFlags(deps, onError);
    return opened;
  };

  app.decorateRequest('flagAccess', null);
  app.addHook('preClose', async () => opened?.streams.endAll());
  app.addHook('onClose', async () => {
    await opened?.streams.close();
    opened?.source.close();
    await opened?.counts.close();
  });
  app.register(async (ofrep) => {
    ofrep.setErrorHandler((error, request, reply) => sendRefusal(error, request, reply, onError));
    ofrep.addHook('onRequest', async (_request, reply) => {
      reply.headers(CORS).header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    });
    const guarded = async (request: FastifyRequest): Promise<void> => {
      const { limiter } = deps.flags;
      await takeFrom(limiter, 'flags', request.addressKey());
      const access = await authorize(open().source, credentialOf(request), pathOf(request));
      await takeFrom(limiter, 'flagsOfNamespace', access.namespace.name);
      request.flagAccess = access;
      refuseCoding(request);
    };

    async function charge(request: FastifyRequest, { namespace }: FlagAccess, hits: number): Promise<void> {
      const { limiter } = deps.flags;
      await takeFrom(limiter, 'flags', request.addressKey(), hits);
      await takeFrom(limiter, 'flagsOfNamespace', namespace.name, hits);
    }

    const one: Handler = async (request, reply) => {
      const { key = '' } = request.params as { key?: string };
      const { access, documents } = await documentsOf(open().source, request);
      const context = readContext(request.body);
      const { status, json } = evaluation(key, await documents.get(foldCase(key)), context);
      if (status === 200) open().counts.add(access.namespace);
      return reply.code(status).type(JSON_TYPE).send(json);
    };

    const all: Handler = async (request, reply) => {
      const { source, waits, counts } = open();
      let { access, documents } = await documentsOf(source, request);
      const context = readContext(request.body);
      const { flagConfigEtag: tag } = request.query as { flagConfigEtag?: unknown };
      if (typeof tag === 'string' && tag !== '') {
        await waits.until(access.namespace.id, documents, tag);
        ({ access, documents } = await documentsOf(source, request));
      }
      // The request itself was counted before.
      const more = Math.ceil(documents.cost() / LIMITS.flagCharge) - 1;
      if (more > 0) await charge(request, access, more);
      const answer = bulkAnswer(documents.all(), context, eventsAt(access));
      reply.header('etag', answer.tag);
      counts.add(access.namespace);
      if (isNotModified(request, answer.tag)) return reply.code(304).send();
      return reply.type(JSON_TYPE).send(answer.json);
    };

    /** Where the stream of the namespace is, for the credential of the request. */
    function eventsAt({ credential, path, namespace }: FlagAccess): string {
      const base = path === undefined ? '' : `/flags/${namespace.name}`;
      const needsTicket = credential !== null && (path === undefined || !namespace.isOpen);
      const ticket = needsTicket ? `?t=${open().tickets.text(credential)}` : '';
      return `${base}/ofrep/v1/events${ticket}`;
    }

    const events: Handler = async (request, reply) => {
      await takeFrom(deps.flags.limiter, 'flags', request.addressKey());
      const { source, streams } = open();
      const { t: ticket } = request.query as { t?: string | string[] };
      const credential =
        ticket === undefined
          ? credentialOf(request)
          : await open().tickets.credential(ticket.toString(), source);
      const access = await authorize(source, credential, pathOf(request));
      // A proxy such as nginx would collect events before it passes them on.
      reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no');
      if (request.method === 'HEAD') return sendHead(reply);
      const { namespace } = access;
      const renew = async (): Promise<boolean> => {
        try {
          await authorizeAgain(source, access);
          return true;
        } catch (error) {
          if (error instanceof FlagRefusal) return false;
          throw error;
        }
      };
      return streams.open({ request, reply, namespace, renew });
    };

    for (const prefix of ['', '/flags/:namespace']) {
      const options = { onRequest: guarded, bodyLimit: LIMITS.flagBody };
      const at = `${prefix}/ofrep/v1/evaluate/flags`;
      ofrep.post(at, options, all);
      ofrep.post(`${at}/:key`, options, one);
      const preflight: Handler = async (_request, reply) => reply.code(204).headers(PREFLIGHT).send();
      ofrep.get(`${prefix}/ofrep/v1/events`, events);
      ofrep.options(`${prefix}/ofrep/v1/events`, preflight);
      ofrep.options(at, preflight);
      ofrep.options(`${at}/:key`, preflight);
    }
  });
}

type Opened = ReturnType<typeof openFlags>;

function openFlags(deps: FlagRouteDeps, onError: NonNullable<ApiDeps['onError']>) {
  const { clock, flags } = deps;
  const source: FlagSource = openFlagSource({ ...deps, onError });
  return {
    source,
    tickets: openTickets(flags.ticketKey, clock),
    counts: openReadCounts({ ...deps, usage: flags.usage, onError }),
    waits: openTagWaits(source, deps),
    streams: openFlagStreams({ ...deps, source, onError }),
  };
}

/** The namespace that the URL names; undefined: none. */
function pathOf(request: FastifyRequest): string | undefined {
  return (request.params as { namespace?: string }).namespace;
}

/** Called before each answer: until then the request has waited, for its body or for a state of the flags. @throws FlagRefusal 401 or 403 */
async function documentsOf(
  source: FlagSource,
  { flagAccess }: FastifyRequest,
): Promise<{ readonly access: FlagAccess; readonly documents: Documents }> {
  const access = flagAccess && (await authorizeAgain(source, flagAccess));
  const documents = access && (await source.documents(access.namespace));
  // It has been deleted since.
  if (access === null || documents === null) throw new FlagRefusal(401, '');
  return { access, documents };
}

async function takeFrom(limiter: Limiter, budget: Budget, key: string, hits = 1): Promise<void> {
  const retryAfter = await limiter.take(budget, key, hits);
  if (retryAfter > 0) throw new FlagRefusal(429, 'too many requests', { retryAfter });
}

/**
 * Requests that ask for the state of the flags that an event told: behind a balancer another process, which may be ahead, sent it.
 */
function openTagWaits(source: FlagSource, { store: { changes }, timers }: Pick<ApiDeps, 'store' | 'timers'>) {
  let waiting = 0;
  return {
    /** Resolves when the documents have or had the tag, and in two seconds. */
    async until(id: string, first: Documents, tag: string): Promise<void> {
      if (first.hasHad(tag) || waiting >= LIMITS.flagWaits) return;
      waiting++;
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = (): void => {
        if (first.hasHad(tag)) resolve();
      };
      const unlisten = source.onChange(({ namespace }) => namespace.id === id && look());
      const cancel = timers.after(LIMITS.flagWaitMs, resolve);
      // The notice of a commit may be lost: the log is looked at, which tells of what there is.
      void changes.bounds().catch(() => {});
      try {
        await promise;
      } finally {
        cancel();
        unlisten();
        waiting--;
      }
    },
  };
}

/** A failure as OFREP has it. It repeats nothing of the request but the key of the flag, which stands in its URL. */
function sendRefusal(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  onError: NonNullable<ApiDeps['onError']>,
): FastifyReply {
  const refusal = refusalOf(error);
  if (refusal === null) onError(error, request.id);
  const { status, message, errorCode, retryAfter } = refusal ?? new FlagRefusal(500, 'server error');
  const { key } = request.params as { key?: string };
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (retryAfter !== null) reply.header('retry-after', String(retryAfter));
  reply.removeHeader('etag');
  const body = {
    ...(errorCode !== null && { ...(key !== undefined && { key }), errorCode }),
    ...(status !== 401 && { errorDetails: message }),
  };
  return reply.code(status).type(JSON_TYPE).send(JSON.stringify(body));
}

/** Null for a fault of the server. */
function refusalOf(error: unknown): FlagRefusal | null {
  if (error instanceof FlagRefusal) return error;
  const status = error instanceof AppError ? error.status : (error as FastifyError).statusCode;
  if (status === undefined || status < 400 || status >= 500) return null;
  if (error instanceof AppError && error.retryAfter !== undefined) {
    return new FlagRefusal(429, 'too many requests', { retryAfter: error.retryAfter });
  }
  if (status === 413) return bad(`the body has more than ${LIMITS.flagBody} octets`);
  if (status === 415) return bad('the body is not application/json');
  return bad('the request is not what OFREP expects: a body of JSON');
}

function bad(details: string): FlagRefusal {
  return new FlagRefusal(400, details, { errorCode: 'GENERAL' });
}
