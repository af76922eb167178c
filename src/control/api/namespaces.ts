import type { FastifyInstance, FastifyRequest } from 'fastify';
import { deleteNamespace } from '../namespaces/delete.ts';
import { createNamespace, getNamespace, listOwnNamespaces } from '../namespaces/namespaces.ts';
import type { ApiDeps } from './deps.ts';
import { actorOf } from './guard.ts';
import { envelope, pathId, refuseParameters } from './input.ts';

export function namespaceRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/namespaces', async (request) => {
    refuseParameters(request);
    return listOwnNamespaces(deps, actorOf(request));
  });
  app.get('/namespaces/:id', (request) => getNamespace(deps, actorOf(request), namespaceId(request)));
  app.post('/namespaces', async (request, reply) => {
    const namespace = await createNamespace(deps, actorOf(request), envelope(request, 'namespace'));
    return reply.code(201).send(namespace);
  });
  app.delete('/namespaces/:id', async (request, reply) => {
    await deleteNamespace(deps, actorOf(request), namespaceId(request));
    return reply.code(204).send();
  });
}

export function namespaceId(request: FastifyRequest): string {
  return pathId(request, 'id', 'Namespace');
}
