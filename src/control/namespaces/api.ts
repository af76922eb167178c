import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { created } from '../../http/answers.ts';
import { actorOf } from '../../http/guard.ts';
import { createdResponse, DELETED_FROM_DNS, describeRoutes } from '../../http/openapi/operation.ts';
import { envelope, jsonBody, pathId } from '../../http/request.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import { arrayOf } from '../../protocol/input/schema.ts';
import { enveloped } from '../../protocol/input/shape.ts';
import type { ApiDeps } from '../api-deps.ts';
import { runOnce, unitOf } from '../unit.ts';
import { deleteNamespace } from './deletion.ts';
import {
  ENDING_PARAMETERS,
  ENDING_TOKENS_SCHEMA,
  listEndingQueryTokens,
  listOwnQueryTokens,
  MINT,
  MINTED_TOKEN_SCHEMA,
  mintQueryToken,
  QUERY_TOKEN_SCHEMA,
  revokeOwnQueryToken,
} from './query-tokens.ts';
import {
  createNamespace,
  getNamespace,
  listOwnNamespaces,
  NAMESPACE_PATCH,
  NAMESPACE_SCHEMA,
  NEW_NAMESPACE,
  patchNamespace,
} from './rules.ts';

const NAMESPACE_ROUTES = describeRoutes('Namespaces', 'credential', {
  list: {
    operationId: 'listNamespaces',
    summary: 'Lists namespaces by name',
    query: {},
    responses: {
      200: { description: 'The namespaces that the credential reaches', schema: arrayOf(NAMESPACE_SCHEMA) },
    },
  },
  get: {
    operationId: 'getNamespace',
    summary: 'Reads a namespace',
    responses: { 200: { description: 'The namespace', schema: NAMESPACE_SCHEMA } },
  },
  create: {
    operationId: 'createNamespace',
    summary: 'Creates a namespace',
    description:
      'Names are unique among all customers, and some are reserved. Not for an API key with `scopes.namespaces`: 403.',
    headers: ['Idempotency-Key'],
    request: enveloped('namespace', NEW_NAMESPACE.schema),
    responses: createdResponse(NAMESPACE_SCHEMA, 'The namespace', ['X-Service-Seq']),
  },
  update: {
    operationId: 'updateNamespace',
    summary: 'Changes how long caches may keep open answers of a namespace',
    description:
      'Of use where everyone may read the namespace: answers of a private namespace always have TTL 0.',
    request: enveloped('namespace', NAMESPACE_PATCH.schema),
    responses: {
      200: { description: 'The namespace', schema: NAMESPACE_SCHEMA, headers: ['X-Service-Seq'] },
    },
  },
  delete: {
    operationId: 'deleteNamespace',
    summary: 'Deletes a namespace with its records and query tokens',
    description:
      'Reads in it are refused at once. Records and tokens go in the background; the name is free when the last is gone. Not for an API key with `scopes.namespaces`: 403.',
    responses: DELETED_FROM_DNS,
  },
});

export function namespaceRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/namespaces', NAMESPACE_ROUTES.list, (request) => listOwnNamespaces(deps, actorOf(request)));
  app.get('/namespaces/:id', NAMESPACE_ROUTES.get, (request) =>
    getNamespace(deps, actorOf(request), namespaceId(request)),
  );
  app.post('/namespaces', NAMESPACE_ROUTES.create, async (request, reply) => {
    const namespace = await runOnce(deps, request, reply, (unit) =>
      createNamespace({ ...deps, unit }, actorOf(request), envelope(request, 'namespace')),
    );
    return created(deps, request, reply, namespace);
  });
  app.patch('/namespaces/:id', NAMESPACE_ROUTES.update, (request, reply) => {
    const change = envelope(request, 'namespace');
    return patchNamespace(
      { ...deps, unit: unitOf(deps, reply) },
      actorOf(request),
      namespaceId(request),
      change,
    );
  });
  app.delete('/namespaces/:id', NAMESPACE_ROUTES.delete, async (request, reply) => {
    await deleteNamespace({ ...deps, unit: unitOf(deps, reply) }, actorOf(request), namespaceId(request));
  });
}

export function namespaceId(request: FastifyRequest): string {
  return pathId(request, 'id', 'Namespace');
}

const QUERY_TOKEN_ROUTES = describeRoutes('Query tokens', 'credential', {
  ending: {
    operationId: 'listEndingQueryTokens',
    summary: 'Lists live query tokens of all namespaces, those that end soonest first',
    description:
      'Of the namespaces that the credential reaches, without plaintext and without tokens of sessions.',
    query: ENDING_PARAMETERS,
    responses: { 200: { description: 'The query tokens', schema: arrayOf(ENDING_TOKENS_SCHEMA) } },
  },
  list: {
    operationId: 'listQueryTokens',
    summary: 'Lists the query tokens of a namespace, oldest first',
    description: `Without plaintext. Ended tokens stay listed for at least 30 days while they are among the ${LIMITS.queryTokensListed} newest of the namespace.`,
    query: {},
    responses: { 200: { description: 'The query tokens', schema: arrayOf(QUERY_TOKEN_SCHEMA) } },
  },
  create: {
    operationId: 'createQueryToken',
    summary: 'Mints a query token',
    description: `The plaintext is in this answer only. A member of an organization who is no owner mints for at most ${LIMITS.queryTokenDaysOfMember} days.`,
    headers: ['Idempotency-Key'],
    request: MINT.schema,
    responses: createdResponse(MINTED_TOKEN_SCHEMA, 'The query token with its plaintext', ['X-Service-Seq']),
  },
  revoke: {
    operationId: 'revokeQueryToken',
    summary: 'Revokes a query token',
    description: 'DNS nodes refuse it within seconds. Revoking twice is no error.',
    responses: { 204: { description: 'Revoked', headers: ['X-Service-Seq'] } },
  },
});

export function queryTokenRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/query_tokens', QUERY_TOKEN_ROUTES.ending, (request) =>
    listEndingQueryTokens(deps, actorOf(request), request.query as QueryParameters),
  );
  app.get('/namespaces/:id/query_tokens', QUERY_TOKEN_ROUTES.list, (request) =>
    listOwnQueryTokens(deps, actorOf(request), namespaceId(request)),
  );
  app.post('/namespaces/:id/query_tokens', QUERY_TOKEN_ROUTES.create, async (request, reply) => {
    const token = await runOnce(deps, request, reply, (unit) =>
      mintQueryToken({ ...deps, unit }, actorOf(request), namespaceId(request), jsonBody(request)),
    );
    return created(deps, request, reply, token);
  });
  app.delete('/namespaces/:id/query_tokens/:token_id', QUERY_TOKEN_ROUTES.revoke, async (request, reply) => {
    const tokenId = pathId(request, 'token_id', 'Query token');
    const unit = unitOf(deps, reply);
    await revokeOwnQueryToken({ ...deps, unit }, actorOf(request), namespaceId(request), tokenId);
  });
}
