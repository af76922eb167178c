import type { FastifyInstance } from 'fastify';
import { actorOf } from '../../http/guard.ts';
import type { Limiter } from '../../http/limiter.ts';
import { describeRoutes } from '../../http/openapi/operation.ts';
import type { QueryParameters } from '../../protocol/input/query-parameters.ts';
import type { ApiDeps } from '../api-deps.ts';
import type { HasWaits } from '../live/waits.ts';
import type { HasCountTurns } from '../query-log/steps.ts';
import { OVERVIEW_PARAMETERS, OVERVIEW_SCHEMA, readOverview } from './overview.ts';
import {
  openPropagation,
  PROPAGATION_PARAMETERS,
  PROPAGATION_SCHEMA,
  readPropagationQuery,
} from './propagation.ts';
import { readUsage, readUsageQuery, USAGE_PARAMETERS, USAGE_SCHEMA, type WritesResource } from './rules.ts';

const ROUTES = describeRoutes('Usage', 'credential', {
  get: {
    operationId: 'getUsage',
    summary: 'Reads what is used, and the private reads of this month',
    description:
      'An API key with `scopes.namespaces` sees only what it reaches. `soft_cap_state` is there where the operator has switched billing on. Nothing is refused by these counts.',
    query: USAGE_PARAMETERS,
    responses: { 200: { description: 'The usage', schema: USAGE_SCHEMA } },
  },
  overview: {
    operationId: 'getOverview',
    summary: 'Reads what is used, and what was asked in a window of time',
    description:
      '`usage` is that of `GET /usage`, `queries` and `resources` are those of `GET /query_logs/counts` by status and by resource, in the usual steps of the window.',
    query: OVERVIEW_PARAMETERS,
    responses: { 200: { description: 'The overview', schema: OVERVIEW_SCHEMA } },
  },
  propagation: {
    operationId: 'getPropagation',
    summary: 'Tells which DNS nodes have applied a write',
    description:
      'A node of another process tells how far it is soon after its view has changed, once a second at most, and every five seconds; the node in this process is always known. `ms` is known for that one, and for another one while the write is the last that it has. With `wait` the answer comes when every node that is not late has the write, else with `applied` false at the end. A node of an earlier release tells every five seconds only.',
    query: PROPAGATION_PARAMETERS,
    responses: { 200: { description: 'Every node', schema: PROPAGATION_SCHEMA } },
  },
});

export function usageRoutes(app: FastifyInstance, deps: ApiDeps & HasWaits & HasCountTurns): void {
  const propagation = openPropagation(deps);
  app.get('/usage', ROUTES.get, async (request) => {
    const actor = actorOf(request);
    const { byDay } = readUsageQuery(request.query as QueryParameters);
    return readUsage(deps, actor, { writes: await writesOf(deps.limiter, actor.customerId), byDay });
  });
  app.get('/overview', ROUTES.overview, async (request) => {
    const actor = actorOf(request);
    const writes = await writesOf(deps.limiter, actor.customerId);
    return readOverview(deps, actor, request.query as QueryParameters, writes);
  });
  app.get('/propagation', ROUTES.propagation, async (request, reply) => {
    const query = request.query as QueryParameters;
    const { position, waitMs } = readPropagationQuery(deps.positions, actorOf(request), query);
    let now = await propagation.read(position);
    if (now.applied) return now;
    await deps.waits.during(request, reply, waitMs, async (signal) => {
      now = await propagation.until(position, signal);
    });
    return now;
  });
}

/** The budget of writes; null where nothing is limited in number. */
async function writesOf(limiter: Limiter, customerId: string): Promise<WritesResource | null> {
  const [minute, hour] = (await limiter.used('writes', customerId)) ?? [];
  if (minute === undefined || hour === undefined) return null;
  return { minute, hour };
}
