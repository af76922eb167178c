import type { FastifyInstance } from 'fastify';
import { deleteOwnAccount } from '../../accounts/delete-account.ts';
import { currentUser } from '../../accounts/users.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { ACCOUNT_OPERATIONS } from '../operations/account.ts';
import { actorOf } from '../requests/guard.ts';
import { jsonBody } from '../requests/input.ts';
import { clearSessionCookie } from '../requests/session-cookie.ts';

export function accountRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/me', describe(ACCOUNT_OPERATIONS.me), (request) => currentUser(deps, actorOf(request)));
  app.delete('/me', describe(ACCOUNT_OPERATIONS.delete), async (request, reply) => {
    await deleteOwnAccount(deps, actorOf(request), jsonBody(request));
    clearSessionCookie(reply, deps.publicUrl());
    return reply.code(204).send();
  });
}
