import type { FastifyInstance } from 'fastify';
import { createApiKey, deleteOwnApiKey, listOwnApiKeys } from '../../keys/api-keys.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { API_KEY_OPERATIONS } from '../operations/api-keys.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, pathId, refuseParameters } from '../requests/input.ts';

export function apiKeyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/api_keys', describe(API_KEY_OPERATIONS.list), async (request) => {
    refuseParameters(request);
    return listOwnApiKeys(deps, actorOf(request));
  });
  app.post('/api_keys', describe(API_KEY_OPERATIONS.create), async (request, reply) => {
    const key = await runOnce(deps, request, (own) =>
      createApiKey(own, actorOf(request), envelope(request, 'api_key')),
    );
    return reply.code(201).send(key);
  });
  app.delete('/api_keys/:id', describe(API_KEY_OPERATIONS.delete), async (request, reply) => {
    await deleteOwnApiKey(deps, actorOf(request), pathId(request, 'id', 'API key'));
    return reply.code(204).send();
  });
}
