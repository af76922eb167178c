import type { FastifyInstance, FastifyRequest } from 'fastify';
import { deleteNamespace } from '../../control/namespaces/delete.ts';
import {
  createNamespace,
  getNamespace,
  listOwnNamespaces,
  NAMESPACE_PATCH,
  NAMESPACE_SCHEMA,
  NEW_NAMESPACE,
  patchNamespace,
} from '../../control/namespaces/namespaces.ts';
import { arrayOf } from '../../protocol/input/schema.ts';
import { enveloped } from '../../protocol/input/shape.ts';
import { created } from '../answers/links.ts';
import { telling } from '../answers/service-seq.ts';
import type { ApiDeps } from '../deps.ts';
import { createdResponse, DELETED_FROM_DNS, describe, type Operation } from '../openapi/operation.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, pathId, refuseParameters } from '../requests/input.ts';

const tag = 'Namespaces';
const auth = 'credential';

const NAMESPACE_OPERATIONS = {
  list: {
    operationId: 'listNamespaces',
    summary: 'Lists namespaces by name',
    tag,
    auth,
    responses: {
      200: { description: 'The namespaces that the credential reaches', schema: arrayOf(NAMESPACE_SCHEMA) },
    },
    errors: [400],
  },
  get: {
    operationId: 'getNamespace',
    summary: 'Reads a namespace',
    tag,
    auth,
    responses: { 200: { description: 'The namespace', schema: NAMESPACE_SCHEMA } },
  },
  create: {
    operationId: 'createNamespace',
    summary: 'Creates a namespace',
    description:
      'Names are unique among all customers, and some are reserved. Not for an API key with `scopes.namespaces`: 403.',
    tag,
    auth,
    headers: ['Idempotency-Key'],
    request: enveloped('namespace', NEW_NAMESPACE.schema),
    responses: createdResponse(NAMESPACE_SCHEMA, 'The namespace', ['X-Service-Seq']),
  },
  update: {
    operationId: 'updateNamespace',
    summary: 'Changes how long caches may keep open answers of a namespace',
    description:
      'Of use where everyone may read the namespace: answers of a private namespace always have TTL 0.',
    tag,
    auth,
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
    tag,
    auth,
    responses: DELETED_FROM_DNS,
  },
} as const satisfies Readonly<Record<string, Operation>>;

export function namespaceRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/namespaces', describe(NAMESPACE_OPERATIONS.list), async (request) => {
    refuseParameters(request);
    return listOwnNamespaces(deps, actorOf(request));
  });
  app.get('/namespaces/:id', describe(NAMESPACE_OPERATIONS.get), (request) =>
    getNamespace(deps, actorOf(request), namespaceId(request)),
  );
  app.post('/namespaces', describe(NAMESPACE_OPERATIONS.create), async (request, reply) => {
    const namespace = await runOnce(telling(deps, request, reply), request, (own) =>
      createNamespace(own, actorOf(request), envelope(request, 'namespace')),
    );
    return created(deps, request, reply, namespace);
  });
  app.patch('/namespaces/:id', describe(NAMESPACE_OPERATIONS.update), (request, reply) => {
    const change = envelope(request, 'namespace');
    return patchNamespace(telling(deps, request, reply), actorOf(request), namespaceId(request), change);
  });
  app.delete('/namespaces/:id', describe(NAMESPACE_OPERATIONS.delete), async (request, reply) => {
    await deleteNamespace(telling(deps, request, reply), actorOf(request), namespaceId(request));
    return reply.code(204).send();
  });
}

export function namespaceId(request: FastifyRequest): string {
  return pathId(request, 'id', 'Namespace');
}
