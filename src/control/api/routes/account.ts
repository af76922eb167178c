import type { FastifyInstance } from 'fastify';
import { currentUser } from '../../accounts/users.ts';
import type { ApiDeps } from '../deps.ts';
import { actorOf } from '../requests/guard.ts';

export function accountRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/me', { config: { session: true } }, (request) => currentUser(deps, actorOf(request)));
}
