import type { FastifyInstance } from 'fastify';
import { createApiKey, deleteOwnApiKey, listOwnApiKeys } from '../../keys/api-keys.ts';
import { created } from '../answers/links.ts';
import type { ApiDeps } from '../deps.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, pathId, refuseParameters } from '../requests/input.ts';

export function apiKeyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const config = { session: true };
  app.get('/api_keys', { config }, async (request) => {
    refuseParameters(request);
    return listOwnApiKeys(deps, actorOf(request));
  });
  app.post('/api_keys', { config }, async (request, reply) => {
    const key = await runOnce(deps, request, (own) =>
      createApiKey(own, actorOf(request), envelope(request, 'api_key')),
    );
    return created(deps, request, reply, key);
  });
  app.delete('/api_keys/:id', { config }, async (request, reply) => {
    await deleteOwnApiKey(deps, actorOf(request), pathId(request, 'id', 'API key'));
    return reply.code(204).send();
  });
}
