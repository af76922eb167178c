import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createPlaces } from '../../base/lifecycle/places.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import { linkNext, sendHead } from '../../http/answers.ts';
import { userOf } from '../../http/guard.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import { jsonLinesStream, LINES_TRAILERS, oneTickEach } from '../../http/streams.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import type { ApiDeps } from '../api-deps.ts';
import { readerIn } from '../records/api.ts';
import {
  AUDIT_FILTERS,
  AUDIT_PAGE_SCHEMA,
  AUDIT_PARAMETERS,
  AUDIT_SCHEMA,
  exportAudit,
  pageAudit,
  UUID_FORM,
} from './list.ts';
import { AUDITED_OPERATIONS } from './operations.ts';
import type { HasRefusals, Refusals } from './refusals.ts';

const ROUTES = describeRoutes('Audit log', 'session', {
  list: {
    operationId: 'listAudit',
    summary: 'Lists who did what, newest first',
    description: `For owners. Each action has one row, in the transaction of the action: neither is there without the other. No row has a payload, a token, a code, an address or a user agent. A page looks through ${LIMITS.auditExamined} rows at most, and may have fewer than \`limit\`, or none, while \`has_more\` is true.`,
    query: AUDIT_PARAMETERS,
    responses: { 200: { description: 'A page of rows', schema: AUDIT_PAGE_SCHEMA, headers: ['Link'] } },
  },
  export: {
    operationId: 'exportAudit',
    summary: 'Exports who did what as JSON lines, newest first',
    description:
      'For owners. One row a line. The answer is chunked: one that was cut off ends without the last chunk, which HTTP clients report as an error. A whole one has the trailer `X-Row-Count` with the number of lines.',
    query: AUDIT_FILTERS,
    responses: {
      200: {
        description: 'JSON lines of `AuditRow`',
        schema: AUDIT_SCHEMA,
        contentType: 'application/x-ndjson',
        headers: ['Trailer', 'Content-Disposition'],
      },
    },
  },
});

/** Who did what to what a customer owns. */
export function auditRoutes(app: FastifyInstance, deps: ApiDeps & HasRefusals): void {
  app.get('/audit', ROUTES.list, async (request, reply) => {
    await deps.refusals.settleRefused();
    const page = await pageAudit(deps, userOf(request), request.query as QueryParameters);
    const { limit, next_cursor: next } = page.meta;
    linkNext(deps, request, reply, limit, next);
    return page;
  });
  const patience = { ms: LIMITS.placePatienceMs, clock: deps.clock };
  const places = createPlaces({ all: LIMITS.auditExports, each: 1, patience });
  const tick = oneTickEach();
  app.get('/audit/export', ROUTES.export, async (request, reply) => {
    const actor = userOf(request);
    await deps.refusals.settleRefused();
    const batches = await exportAudit(deps, actor, request.query as QueryParameters);
    reply.type('application/x-ndjson').header('content-disposition', 'attachment; filename="audit.jsonl"');
    if (request.method === 'HEAD') return sendHead(reply);
    const reader = readerIn(places, actor, reply, deps.clock);
    // Trailers need chunks, which HTTP/1.0 does not have.
    if (request.raw.httpVersion !== '1.0') reply.header('trailer', LINES_TRAILERS.rows);
    const mayGoOn = async (): Promise<boolean> => (await request.renewActor())?.role === 'owner';
    const times = { idleMs: LIMITS.listingIdleMs, totalMs: LIMITS.listingMs };
    const options = { ...times, timers: deps.timers, tick, mayGoOn, reader, lines: 'rows' } as const;
    return reply.send(jsonLinesStream(batches, reply.raw, options));
  });
}

/** Notes a request that was answered 403, if it is an action. */
export function noteRefusal(refusals: Refusals, request: FastifyRequest, actor: Actor): void {
  const { operation, public: isPublic } = request.routeOptions.config;
  const audited = operation && AUDITED_OPERATIONS[operation.operationId];
  if (audited === undefined || isPublic === true) return;
  const parameters = request.params as Readonly<Record<string, string>>;
  const idOf = (name: string | undefined): string | null => {
    const id = name === undefined ? undefined : parameters[name];
    return id !== undefined && UUID_FORM.test(id) ? id.toLowerCase() : null;
  };
  refusals.refused(actor, {
    action: audited.action,
    objectId: idOf(audited.id),
    organizationId: idOf(audited.ofOrganization && 'id'),
  });
}
