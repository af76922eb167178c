import type { FastifyInstance } from 'fastify';
import { actorOf } from '../../http/guard.ts';
import { describe, madeResponse, type Operation } from '../../http/openapi/operation.ts';
import { envelope, pathId, refuseParameters } from '../../http/request.ts';
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

const tag = 'API keys';
const auth = 'session';

const API_KEY_OPERATIONS = {
  list: {
    operationId: 'listApiKeys',
    summary: 'Lists API keys, oldest first',
    tag,
    auth,
    responses: {
      200: { description: 'The API keys, without their tokens', schema: arrayOf(API_KEY_SCHEMA) },
    },
    errors: [400],
  },
  create: {
    operationId: 'createApiKey',
    summary: 'Creates an API key',
    description: 'The token is in this answer only.',
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: enveloped('api_key', NEW_API_KEY.schema),
    responses: madeResponse(CREATED_API_KEY_SCHEMA, 'The API key with its token'),
  },
  delete: {
    operationId: 'deleteApiKey',
    summary: 'Revokes an API key at once and for good',
    tag,
    auth,
    responses: { 204: { description: 'Revoked' } },
  },
} as const satisfies Readonly<Record<string, Operation>>;

export function apiKeyRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/api_keys', describe(API_KEY_OPERATIONS.list), async (request) => {
    refuseParameters(request);
    return listOwnApiKeys(deps, actorOf(request));
  });
  app.post('/api_keys', describe(API_KEY_OPERATIONS.create), async (request, reply) => {
    const key = await runOnce(deps, request, reply, (unit) =>
      createApiKey({ ...deps, unit }, actorOf(request), envelope(request, 'api_key')),
    );
    return reply.code(201).send(key);
  });
  app.delete('/api_keys/:id', describe(API_KEY_OPERATIONS.delete), async (request, reply) => {
    await deleteOwnApiKey(deps, actorOf(request), pathId(request, 'id', 'API key'));
    return reply.code(204).send();
  });
}
