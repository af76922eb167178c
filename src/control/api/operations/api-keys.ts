import { arrayOf } from '../../../core/input/schema.ts';
import { enveloped } from '../../../core/input/shape.ts';
import { API_KEY_SCHEMA, CREATED_API_KEY_SCHEMA } from '../../keys/api-keys.ts';
import { NEW_API_KEY } from '../../keys/input.ts';
import { madeResponse, type Operation } from '../openapi/operation.ts';

const tag = 'API keys';
const auth = 'session';

export const API_KEY_OPERATIONS = {
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
