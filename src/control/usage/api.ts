import type { FastifyInstance } from 'fastify';
import { actorOf } from '../../http/guard.ts';
import type { Limiter } from '../../http/limiter.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import type { ApiDeps } from '../api-deps.ts';
import {
  PROPAGATION_PARAMETERS,
  PROPAGATION_SCHEMA,
  readPropagation,
  readUsage,
  USAGE_SCHEMA,
  type WritesResource,
} from './rules.ts';

const ROUTES = describeRoutes('Usage', 'credential', {
  get: {
    operationId: 'getUsage',
    summary: 'Reads what is used, and the private reads of this month',
    description:
      'An API key with `scopes.namespaces` sees only what it reaches. `soft_cap_state` is there where the operator has switched billing on. Nothing is refused by these counts.',
    query: {},
    responses: { 200: { description: 'The usage', schema: USAGE_SCHEMA } },
  },
  propagation: {
    operationId: 'getPropagation',
    summary: 'Tells which DNS nodes have applied a write',
    description:
      'A node of another process tells how far it is every five seconds; the node in this process is always known. `ms` is known for that one.',
    query: PROPAGATION_PARAMETERS,
    responses: { 200: { description: 'Every node', schema: PROPAGATION_SCHEMA } },
  },
});

export function usageRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/usage', ROUTES.get, async (request) => {
    const actor = actorOf(request);
    return readUsage(deps, actor, await writesOf(deps.limiter, actor.customerId));
  });
  app.get('/propagation', ROUTES.propagation, (request) =>
    readPropagation(deps, actorOf(request), request.query as QueryParameters),
  );
}

/** The budget of writes; null where nothing is limited in number. */
async function writesOf(limiter: Limiter, customerId: string): Promise<WritesResource | null> {
  const [minute, hour] = (await limiter.used('writes', customerId)) ?? [];
  if (minute === undefined || hour === undefined) return null;
  return { minute, hour };
}
