import type { FastifyInstance, FastifyRequest } from 'fastify';
import { deleteNamespace } from '../../namespaces/delete.ts';
import {
  createNamespace,
  getNamespace,
  listOwnNamespaces,
  patchNamespace,
} from '../../namespaces/namespaces.ts';
import { created } from '../answers/links.ts';
import { telling } from '../answers/service-seq.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { NAMESPACE_OPERATIONS } from '../operations/namespaces.ts';
import { actorOf } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, pathId, refuseParameters } from '../requests/input.ts';

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
