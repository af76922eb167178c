import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import { linkNext } from '../../http/answers.ts';
import { userOf } from '../../http/guard.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import type { ApiDeps } from '../api-deps.ts';
import { AUDIT_PAGE_SCHEMA, AUDIT_PARAMETERS, pageAudit, UUID_FORM } from './list.ts';
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
});

/** Who did what to what a customer owns. */
export function auditRoutes(app: FastifyInstance, deps: ApiDeps & HasRefusals): void {
  app.get('/audit', ROUTES.list, async (request, reply) => {
    await deps.refusals.settle();
    const page = await pageAudit(deps, userOf(request), request.query as QueryParameters);
    const { limit, next_cursor: next } = page.meta;
    linkNext(deps, request, reply, limit, next);
    return page;
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
