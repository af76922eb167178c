import type { FastifyInstance } from 'fastify';
import type { QueryParameters } from '../../../core/input/query-parameters.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { readPropagation } from '../../propagation/propagation.ts';
import { readUsage, type WritesResource } from '../../usage/usage.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { USAGE_OPERATIONS } from '../operations/usage.ts';
import { actorOf } from '../requests/guard.ts';
import { refuseParameters } from '../requests/input.ts';

export function usageRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/usage', describe(USAGE_OPERATIONS.get), async (request) => {
    refuseParameters(request);
    const actor = actorOf(request);
    return readUsage(deps, actor, await writesOf(deps.limiter, actor.customerId));
  });
  app.get('/propagation', describe(USAGE_OPERATIONS.propagation), (request) =>
    readPropagation(deps, actorOf(request), request.query as QueryParameters),
  );
}

/** The budget of writes; null where nothing is limited in number. */
async function writesOf(limiter: Limiter, customerId: string): Promise<WritesResource | null> {
  const [minute, hour] = (await limiter.used('writes', customerId)) ?? [];
  if (minute === undefined || hour === undefined) return null;
  return { minute, hour };
}
