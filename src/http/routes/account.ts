import type { FastifyInstance } from 'fastify';
import { ACCOUNT_DELETION, deleteOwnAccount } from '../../control/accounts/delete-account.ts';
import { currentUser, USER_SCHEMA } from '../../control/accounts/users.ts';
import type { ApiDeps } from '../deps.ts';
import { DELETED, describe, type Operation } from '../openapi/operation.ts';
import { actorOf } from '../requests/guard.ts';
import { jsonBody } from '../requests/input.ts';
import { clearSessionCookie } from '../requests/session-cookie.ts';

const ACCOUNT_OPERATIONS = {
  me: {
    operationId: 'getMe',
    summary: 'Reads the signed-in user',
    tag: 'Account',
    auth: 'session',
    responses: { 200: { description: 'The user', schema: USER_SCHEMA } },
    errors: [404],
  },
  delete: {
    operationId: 'deleteMe',
    summary: 'Deletes your account and everything that is yours',
    description:
      'The address in the body proves that you mean it. When it is answered you are signed out everywhere, keys and webhooks have ended, and the address is free. Namespaces, records and the rest follow in small units. Refused with 403 while a namespace is suspended, and with 422 for the last owner of an organization.',
    tag: 'Account',
    auth: 'session',
    request: ACCOUNT_DELETION.schema,
    responses: { 204: { ...DELETED[204], headers: ['Set-Cookie'] } },
  },
} as const satisfies Readonly<Record<string, Operation>>;

export function accountRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/me', describe(ACCOUNT_OPERATIONS.me), (request) => currentUser(deps, actorOf(request)));
  app.delete('/me', describe(ACCOUNT_OPERATIONS.delete), async (request, reply) => {
    await deleteOwnAccount(deps, actorOf(request), jsonBody(request));
    clearSessionCookie(reply, deps.publicUrl());
    return reply.code(204).send();
  });
}
