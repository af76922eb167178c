import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { linkNext } from '../../http/answers.ts';
import { userOf } from '../../http/guard.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import type { ApiDeps } from '../api-deps.ts';
import { AUDIT_PAGE_SCHEMA, AUDIT_PARAMETERS, pageAudit } from './list.ts';

const ROUTES = describeRoutes('Audit log', 'session', {
  list: {
    operationId: 'listAudit',
    summary: 'Lists who did what, newest first',
    description: `For owners. Each action has one row, in the transaction of the action: neither is there without the other. No row has a payload, a token, a code, an address or a user agent. A page looks through ${LIMITS.auditExamined} rows at most, and may have fewer than \`limit\`, or none, while \`has_more\` is true.`,
    query: AUDIT_PARAMETERS,
    responses: { 200: { description: 'A page of rows', schema: AUDIT_PAGE_SCHEMA, headers: ['Link'] } },
  },
});

/** Who did what to what a customer owns. */
export function auditRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/audit', ROUTES.list, async (request, reply) => {
    const page = await pageAudit(deps, userOf(request), request.query as QueryParameters);
    const { limit, next_cursor: next } = page.meta;
    linkNext(deps, request, reply, limit, next);
    return page;
  });
}
