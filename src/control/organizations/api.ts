import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { requireSession } from '../../http/actor.ts';
import { created } from '../../http/answers.ts';
import { actorOf, take } from '../../http/guard.ts';
import {
  createdResponse,
  DELETED,
  describe,
  madeResponse,
  type Operation,
} from '../../http/openapi/operation.ts';
import { envelope, jsonBody, pathId, refuseParameters } from '../../http/request.ts';
import { arrayOf, type ObjectSchema } from '../../protocol/input/schema.ts';
import { enveloped } from '../../protocol/input/shape.ts';
import type { ApiDeps } from '../api-deps.ts';
import { runOnce } from '../unit.ts';
import { acceptInvitation, invite, listOrganizationInvitations, withdrawInvitation } from './invitations.ts';
import {
  ACCEPTANCE,
  createOrganization,
  deleteOrganization,
  getOrganization,
  INVITATION_SCHEMA,
  listOrganizationMembers,
  listOwnOrganizations,
  MEMBER_PATCH,
  MEMBER_SCHEMA,
  NEW_INVITATION,
  NEW_ORGANIZATION,
  ORGANIZATION_SCHEMA,
  patchMember,
  patchOrganization,
  removeMember,
  SESSION_SWITCH,
  switchOrganization,
} from './rules.ts';

const tag = 'Organizations';
const auth = 'session';
const headers = ['Idempotency-Key'] as const;

const SWITCHED: ObjectSchema = {
  title: 'SessionOrganizationResult',
  type: 'object',
  properties: {
    organization: {
      anyOf: [ORGANIZATION_SCHEMA, { type: 'null' }],
      description: 'null: the session acts for the account of the user alone',
    },
  },
  required: ['organization'],
};

const ORGANIZATIONS = {
  create: {
    operationId: 'createOrganization',
    summary: 'Creates an organization',
    description: `You become its first owner. It has the tier free until the operator changes that. A user belongs to at most ${LIMITS.organizationsPerUser} organizations.`,
    tag,
    auth,
    headers,
    request: enveloped('organization', NEW_ORGANIZATION.schema),
    responses: createdResponse(ORGANIZATION_SCHEMA, 'The organization'),
  },
  list: {
    operationId: 'listOrganizations',
    summary: 'Lists the organizations that you belong to',
    tag,
    auth,
    responses: { 200: { description: 'Oldest first', schema: arrayOf(ORGANIZATION_SCHEMA) } },
    errors: [400],
  },
  get: {
    operationId: 'getOrganization',
    summary: 'Reads an organization',
    tag,
    auth,
    responses: { 200: { description: 'The organization', schema: ORGANIZATION_SCHEMA } },
  },
  update: {
    operationId: 'updateOrganization',
    summary: 'Renames an organization',
    description: 'For owners.',
    tag,
    auth,
    request: enveloped('organization', NEW_ORGANIZATION.schema),
    responses: { 200: { description: 'The organization', schema: ORGANIZATION_SCHEMA } },
  },
  delete: {
    operationId: 'deleteOrganization',
    summary: 'Deletes an organization with everything that belongs to it',
    description:
      'For owners. Sessions and API keys of the organization end at once; namespaces and records go in the background. 403 while the operator has suspended one of its namespaces.',
    tag,
    auth,
    responses: DELETED,
  },
  switch: {
    operationId: 'switchOrganization',
    summary: 'Chooses the organization that this session acts for',
    description: 'Records, namespaces, webhooks, keys and usage are those of the organization from then on.',
    tag,
    auth,
    request: SESSION_SWITCH.schema,
    responses: { 200: { description: 'What the session acts for now', schema: SWITCHED } },
    errors: [404],
  },
} as const;

const MEMBERS = {
  listMembers: {
    operationId: 'listMembers',
    summary: 'Lists the members of an organization',
    tag,
    auth,
    responses: { 200: { description: 'Longest membership first', schema: arrayOf(MEMBER_SCHEMA) } },
    errors: [400],
  },
  updateMember: {
    operationId: 'updateMember',
    summary: 'Changes the role of a member',
    description: 'For owners. The last owner stays an owner.',
    tag,
    auth,
    request: enveloped('member', MEMBER_PATCH.schema),
    responses: { 200: { description: 'The member', schema: MEMBER_SCHEMA } },
  },
  removeMember: {
    operationId: 'removeMember',
    summary: 'Removes a member, or leaves an organization',
    description:
      'Owners remove others; everybody may leave, except the last owner. The sessions in which that user acts for the organization end at once. The query tokens that the user minted in it are revoked, and the webhooks that the user made there are disabled: `created_by` in their lists names the user.',
    tag,
    auth,
    responses: DELETED,
    errors: [422],
  },
} as const;

const INVITATIONS = {
  invite: {
    operationId: 'createInvitation',
    summary: 'Invites an address by mail',
    description: `For owners. The invitation is valid for ${LIMITS.invitationDays} days, works once, and only for the user with this address. It replaces an earlier one. At most ${LIMITS.invitationsPerHour} an hour.`,
    tag,
    auth,
    headers,
    request: enveloped('invitation', NEW_INVITATION.schema),
    responses: madeResponse(INVITATION_SCHEMA, 'The invitation'),
  },
  listInvitations: {
    operationId: 'listInvitations',
    summary: 'Lists invitations that can still be accepted',
    description: 'For owners.',
    tag,
    auth,
    responses: { 200: { description: 'Oldest first', schema: arrayOf(INVITATION_SCHEMA) } },
    errors: [400],
  },
  withdraw: {
    operationId: 'deleteInvitation',
    summary: 'Withdraws an invitation',
    description: 'For owners.',
    tag,
    auth,
    responses: DELETED,
  },
  accept: {
    operationId: 'acceptInvitation',
    summary: 'Accepts an invitation',
    description: 'Every token that you cannot accept is 404.',
    tag,
    auth,
    headers,
    request: ACCEPTANCE.schema,
    responses: { 200: { description: 'The organization', schema: ORGANIZATION_SCHEMA } },
    errors: [404],
  },
} as const;

const ORGANIZATION_OPERATIONS = {
  ...ORGANIZATIONS,
  ...MEMBERS,
  ...INVITATIONS,
} as const satisfies Readonly<Record<string, Operation>>;

/** Only with UQRP_ORGANIZATIONS: otherwise these paths do not exist. */
export function organizationRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/organizations', describe(ORGANIZATION_OPERATIONS.create), async (request, reply) => {
    const organization = await runOnce(deps, request, reply, (unit) =>
      createOrganization({ ...deps, unit }, actorOf(request), envelope(request, 'organization')),
    );
    return created(deps, request, reply, organization);
  });
  app.get('/organizations', describe(ORGANIZATION_OPERATIONS.list), (request) => {
    refuseParameters(request);
    return listOwnOrganizations(deps, actorOf(request));
  });
  app.get('/organizations/:id', describe(ORGANIZATION_OPERATIONS.get), (request) =>
    getOrganization(deps, actorOf(request), organizationId(request)),
  );
  app.patch('/organizations/:id', describe(ORGANIZATION_OPERATIONS.update), (request) =>
    patchOrganization(deps, actorOf(request), organizationId(request), envelope(request, 'organization')),
  );
  app.delete('/organizations/:id', describe(ORGANIZATION_OPERATIONS.delete), async (request, reply) => {
    await deleteOrganization(deps, actorOf(request), organizationId(request));
    return reply.code(204).send();
  });
  app.post('/auth/organization', describe(ORGANIZATION_OPERATIONS.switch), (request) =>
    switchOrganization(deps, actorOf(request), jsonBody(request)),
  );
  memberRoutes(app, deps);
  invitationRoutes(app, deps);
}

function memberRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/organizations/:id/members', describe(ORGANIZATION_OPERATIONS.listMembers), (request) => {
    refuseParameters(request);
    return listOrganizationMembers(deps, actorOf(request), organizationId(request));
  });
  app.patch(
    '/organizations/:id/members/:user_id',
    describe(ORGANIZATION_OPERATIONS.updateMember),
    (request) => {
      const memberId = pathId(request, 'user_id', 'Member');
      return patchMember(
        deps,
        actorOf(request),
        organizationId(request),
        memberId,
        envelope(request, 'member'),
      );
    },
  );
  app.delete(
    '/organizations/:id/members/:user_id',
    describe(ORGANIZATION_OPERATIONS.removeMember),
    async (request, reply) => {
      const memberId = pathId(request, 'user_id', 'Member');
      await removeMember(deps, actorOf(request), organizationId(request), memberId);
      return reply.code(204).send();
    },
  );
}

function invitationRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post(
    '/organizations/:id/invitations',
    describe(ORGANIZATION_OPERATIONS.invite),
    async (request, reply) => {
      const invitation = await runOnce(deps, request, reply, async (unit) => {
        const actor = actorOf(request);
        requireSession(actor);
        await take(deps.limiter, 'invitations', actor.userId);
        return invite({ ...deps, unit }, actor, organizationId(request), envelope(request, 'invitation'));
      });
      return reply.code(201).send(invitation);
    },
  );
  app.get('/organizations/:id/invitations', describe(ORGANIZATION_OPERATIONS.listInvitations), (request) => {
    refuseParameters(request);
    return listOrganizationInvitations(deps, actorOf(request), organizationId(request));
  });
  app.delete(
    '/organizations/:id/invitations/:invitation_id',
    describe(ORGANIZATION_OPERATIONS.withdraw),
    async (request, reply) => {
      const invitationId = pathId(request, 'invitation_id', 'Invitation');
      await withdrawInvitation(deps, actorOf(request), organizationId(request), invitationId);
      return reply.code(204).send();
    },
  );
  app.post('/invitations/accept', describe(ORGANIZATION_OPERATIONS.accept), (request, reply) =>
    runOnce(deps, request, reply, (unit) =>
      acceptInvitation({ ...deps, unit }, actorOf(request), jsonBody(request)),
    ),
  );
}

function organizationId(request: FastifyRequest): string {
  return pathId(request, 'id', 'Organization');
}
