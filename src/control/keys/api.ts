import type { FastifyInstance } from 'fastify';
import { created } from '../../http/answers.ts';
import { userOf } from '../../http/guard.ts';
import { createdResponse, describeRoutes } from '../../http/openapi/operation.ts';
import { envelope, pathId } from '../../http/request.ts';
import { arrayOf } from '../../protocol/input/schema.ts';
import { enveloped } from '../../protocol/input/shape.ts';
import type { ApiDeps } from '../api-deps.ts';
import { runOnce } from '../unit.ts';
import {
  API_KEY_SCHEMA,
  CREATED_API_KEY_SCHEMA,
  createApiKey,
  deleteOwnApiKey,
  listOwnApiKeys,
  NEW_API_KEY,
} from './rules.ts';

const ROUTES = describeRoutes('API keys', 'session', {
  list: {
    operationId: 'listApiKeys',
    summary: 'Lists API keys, oldest first',
    query: {},
    responses: {
      200: { description: 'The API keys, without their tokens', schema: arrayOf(API_KEY_SCHEMA) },
    },
  },
  create: {
    operationId: 'createApiKey',
    summary: 'Creates an API key',
    description: 'The token is in this answer only.',
    headers: ['Idempotency-Key'],
    request: enveloped('api_key', NEW_API_KEY.schema),
    responses: createdResponse(CREATED_API_KEY_SCHEMA, 'The API key with its token'),
  },
  delete: {
    operationId: 'deleteApiKey',
    summary: 'Revokes an API key at once and for good',
    responses: { 204: { description: 'Revoked' } },
  },
});

export function apiKeyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/api_keys', ROUTES.list, (request) => listOwnApiKeys(deps, userOf(request)));
  app.post('/api_keys', ROUTES.create, async (request, reply) => {
    const key = await runOnce(deps, request, reply, (unit) =>
      createApiKey({ ...deps, unit }, userOf(request), envelope(request, 'api_key')),
    );
    return created(deps, request, reply, key);
  });
  app.delete('/api_keys/:id', ROUTES.delete, (request) =>
    deleteOwnApiKey(deps, userOf(request), pathId(request, 'id', 'API key')),
  );
}
