import type { FastifyInstance } from 'fastify';
import { createApiKey, deleteOwnApiKey, listOwnApiKeys } from '../keys/api-keys.ts';
import type { ApiDeps } from './deps.ts';
import { actorOf } from './guard.ts';
import { envelope, pathId, refuseParameters } from './input.ts';

export function apiKeyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  const config = { session: true };
  app.get('/api_keys', { config }, async (request) => {
    refuseParameters(request);
    return listOwnApiKeys(deps, actorOf(request));
  });
  app.post('/api_keys', { config }, async (request, reply) => {
    const key = await createApiKey(deps, actorOf(request), envelope(request, 'api_key'));
    return reply.code(201).send(key);
  });
  app.delete('/api_keys/:id', { config }, async (request, reply) => {
    await deleteOwnApiKey(deps, actorOf(request), pathId(request, 'id', 'API key'));
    return reply.code(204).send();
  });
}
