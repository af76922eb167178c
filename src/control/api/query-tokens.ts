import type { FastifyInstance } from 'fastify';
import { listOwnQueryTokens, mintQueryToken, revokeOwnQueryToken } from '../namespaces/query-tokens.ts';
import type { ApiDeps } from './deps.ts';
import { actorOf } from './guard.ts';
import { jsonBody, pathId, refuseParameters } from './input.ts';
import { namespaceId } from './namespaces.ts';

export function queryTokenRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/namespaces/:id/query_tokens', async (request) => {
    refuseParameters(request);
    return listOwnQueryTokens(deps, actorOf(request), namespaceId(request));
  });
  app.post('/namespaces/:id/query_tokens', async (request, reply) => {
    const token = await mintQueryToken(deps, actorOf(request), namespaceId(request), jsonBody(request));
    return reply.code(201).send(token);
  });
  app.delete('/namespaces/:id/query_tokens/:token_id', async (request, reply) => {
    const tokenId = pathId(request, 'token_id', 'Query token');
    await revokeOwnQueryToken(deps, actorOf(request), namespaceId(request), tokenId);
    return reply.code(204).send();
  });
}
