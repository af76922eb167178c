import type { FastifyReply, FastifyRequest } from 'fastify';
import { noting } from '../../control/propagation/written.ts';
import type { ApiDeps } from '../deps.ts';
import { actorOf } from '../requests/guard.ts';

/** Name of the header. */
const HEADER = 'x-service-seq';

/** Dependencies whose writes put their place in the feed into the answer, for `GET /propagation`. */
export function telling(deps: ApiDeps, request: FastifyRequest, reply: FastifyReply): ApiDeps {
  const { customerId } = actorOf(request);
  return noting(deps, (position) => {
    reply.header(HEADER, deps.positions.text(customerId, position));
  });
}
