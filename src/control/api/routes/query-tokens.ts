import type { FastifyInstance } from 'fastify';
import { listOwnQueryTokens, mintQueryToken, revokeOwnQueryToken } from '../../namespaces/query-tokens.ts';
import { telling } from '../answers/service-seq.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { QUERY_TOKEN_OPERATIONS } from '../operations/query-tokens.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { jsonBody, pathId, refuseParameters } from '../requests/input.ts';
import { namespaceId } from './namespaces.ts';

export function queryTokenRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/namespaces/:id/query_tokens', describe(QUERY_TOKEN_OPERATIONS.list), async (request) => {
    refuseParameters(request);
    return listOwnQueryTokens(deps, actorOf(request), namespaceId(request));
  });
  app.post(
    '/namespaces/:id/query_tokens',
    describe(QUERY_TOKEN_OPERATIONS.create),
    async (request, reply) => {
      const token = await runOnce(telling(deps, request, reply), request, (own) =>
        mintQueryToken(own, actorOf(request), namespaceId(request), jsonBody(request)),
      );
      return reply.code(201).send(token);
    },
  );
  app.delete(
    '/namespaces/:id/query_tokens/:token_id',
    describe(QUERY_TOKEN_OPERATIONS.revoke),
    async (request, reply) => {
      const tokenId = pathId(request, 'token_id', 'Query token');
      const own = telling(deps, request, reply);
      await revokeOwnQueryToken(own, actorOf(request), namespaceId(request), tokenId);
      return reply.code(204).send();
    },
  );
}
