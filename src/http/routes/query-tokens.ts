import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import {
  listOwnQueryTokens,
  MINT,
  MINTED_TOKEN_SCHEMA,
  mintQueryToken,
  QUERY_TOKEN_SCHEMA,
  revokeOwnQueryToken,
} from '../../control/namespaces/query-tokens.ts';
import { arrayOf } from '../../protocol/input/schema.ts';
import { telling } from '../answers/service-seq.ts';
import type { ApiDeps } from '../deps.ts';
import { describe, madeResponse, type Operation } from '../openapi/operation.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { jsonBody, pathId, refuseParameters } from '../requests/input.ts';
import { namespaceId } from './namespaces.ts';

const tag = 'Query tokens';
const auth = 'credential';

const QUERY_TOKEN_OPERATIONS = {
  list: {
    operationId: 'listQueryTokens',
    summary: 'Lists the query tokens of a namespace, oldest first',
    description: 'Without plaintext. Ended tokens stay listed for at least 30 days.',
    tag,
    auth,
    responses: { 200: { description: 'The query tokens', schema: arrayOf(QUERY_TOKEN_SCHEMA) } },
    errors: [400],
  },
  create: {
    operationId: 'createQueryToken',
    summary: 'Mints a query token',
    description: `The plaintext is in this answer only. A member of an organization who is no owner mints for at most ${LIMITS.queryTokenDaysOfMember} days.`,
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: MINT.schema,
    responses: madeResponse(MINTED_TOKEN_SCHEMA, 'The query token with its plaintext', ['X-Service-Seq']),
  },
  revoke: {
    operationId: 'revokeQueryToken',
    summary: 'Revokes a query token',
    description: 'DNS nodes refuse it within seconds. Revoking twice is no error.',
    tag,
    auth,
    responses: { 204: { description: 'Revoked', headers: ['X-Service-Seq'] } },
  },
} as const satisfies Readonly<Record<string, Operation>>;

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
