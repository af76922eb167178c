import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireSession } from '../../accounts/actor.ts';
import { deleteOrganization } from '../../organizations/delete-organization.ts';
import {
  acceptInvitation,
  invite,
  listOrganizationInvitations,
  withdrawInvitation,
} from '../../organizations/invitations.ts';
import { listOrganizationMembers, patchMember, removeMember } from '../../organizations/members.ts';
import {
  createOrganization,
  getOrganization,
  listOwnOrganizations,
  patchOrganization,
  switchOrganization,
} from '../../organizations/organizations.ts';
import { created } from '../answers/links.ts';
import type { ApiDeps } from '../deps.ts';
import { describe } from '../openapi/operation.ts';
import { ORGANIZATION_OPERATIONS as OPERATIONS } from '../operations/organizations.ts';
import { actorOf, take } from '../requests/guard.ts';
import { runOnce } from '../requests/idempotency.ts';
import { envelope, jsonBody, pathId, refuseParameters } from '../requests/input.ts';

/** Only with UQRP_ORGANIZATIONS: otherwise these paths do not exist. */
export function organizationRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/organizations', describe(OPERATIONS.create), async (request, reply) => {
    const organization = await runOnce(deps, request, (own) =>
      createOrganization(own, actorOf(request), envelope(request, 'organization')),
    );
    return created(deps, request, reply, organization);
  });
  app.get('/organizations', describe(OPERATIONS.list), (request) => {
    refuseParameters(request);
    return listOwnOrganizations(deps, actorOf(request));
  });
  app.get('/organizations/:id', describe(OPERATIONS.get), (request) =>
    getOrganization(deps, actorOf(request), organizationId(request)),
  );
  app.patch('/organizations/:id', describe(OPERATIONS.update), (request) =>
    patchOrganization(deps, actorOf(request), organizationId(request), envelope(request, 'organization')),
  );
  app.delete('/organizations/:id', describe(OPERATIONS.delete), async (request, reply) => {
    await deleteOrganization(deps, actorOf(request), organizationId(request));
    return reply.code(204).send();
  });
  app.post('/auth/organization', describe(OPERATIONS.switch), (request) =>
    switchOrganization(deps, actorOf(request), jsonBody(request)),
  );
  memberRoutes(app, deps);
  invitationRoutes(app, deps);
}

function memberRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/organizations/:id/members', describe(OPERATIONS.listMembers), (request) => {
    refuseParameters(request);
    return listOrganizationMembers(deps, actorOf(request), organizationId(request));
  });
  app.patch('/organizations/:id/members/:user_id', describe(OPERATIONS.updateMember), (request) => {
    const memberId = pathId(request, 'user_id', 'Member');
    return patchMember(
      deps,
      actorOf(request),
      organizationId(request),
      memberId,
      envelope(request, 'member'),
    );
  });
  app.delete(
    '/organizations/:id/members/:user_id',
    describe(OPERATIONS.removeMember),
    async (request, reply) => {
      const memberId = pathId(request, 'user_id', 'Member');
      await removeMember(deps, actorOf(request), organizationId(request), memberId);
      return reply.code(204).send();
    },
  );
}

function invitationRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/organizations/:id/invitations', describe(OPERATIONS.invite), async (request, reply) => {
    const invitation = await runOnce(deps, request, async (own) => {
      const actor = actorOf(request);
      requireSession(actor);
      await take(deps.limiter, 'invitations', actor.userId);
      return invite(own, actor, organizationId(request), envelope(request, 'invitation'));
    });
    return reply.code(201).send(invitation);
  });
  app.get('/organizations/:id/invitations', describe(OPERATIONS.listInvitations), (request) => {
    refuseParameters(request);
    return listOrganizationInvitations(deps, actorOf(request), organizationId(request));
  });
  app.delete(
    '/organizations/:id/invitations/:invitation_id',
    describe(OPERATIONS.withdraw),
    async (request, reply) => {
      const invitationId = pathId(request, 'invitation_id', 'Invitation');
      await withdrawInvitation(deps, actorOf(request), organizationId(request), invitationId);
      return reply.code(204).send();
    },
  );
  app.post('/invitations/accept', describe(OPERATIONS.accept), (request) =>
    runOnce(deps, request, (own) => acceptInvitation(own, actorOf(request), jsonBody(request))),
  );
}

function organizationId(request: FastifyRequest): string {
  return pathId(request, 'id', 'Organization');
}
