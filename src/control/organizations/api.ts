import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LIMITS } from '../../base/limits.ts';
import { created } from '../../http/answers.ts';
import { take, userOf } from '../../http/guard.ts';
import { createdResponse, DELETED, describeRoutes } from '../../http/openapi/operation.ts';
import { envelope, jsonBody, pathId } from '../../http/request.ts';
import { arrayOf, type ObjectSchema } from '../../protocol/input/schema.ts';
import { enveloped } from '../../protocol/input/shape.ts';
import type { ApiDeps } from '../api-deps.ts';
import { runOnce } from '../unit.ts';
import {
  ACCEPTANCE,
  acceptInvitation,
  INVITATION_SCHEMA,
  invite,
  listOrganizationInvitations,
  NEW_INVITATION,
  withdrawInvitation,
} from './invitations.ts';
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizationMembers,
  listOwnOrganizations,
  MEMBER_PATCH,
  MEMBER_SCHEMA,
  NEW_ORGANIZATION,
  ORGANIZATION_SCHEMA,
  patchMember,
  patchOrganization,
  removeMember,
  SESSION_SWITCH,
  switchOrganization,
} from './rules.ts';

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

const ROUTES = describeRoutes('Organizations', 'session', {
  create: {
    operationId: 'createOrganization',
    summary: 'Creates an organization',
    description: `You become its first owner. It has the tier free until the operator changes that. A user belongs to at most ${LIMITS.organizationsPerUser} organizations.`,
    headers,
    request: enveloped('organization', NEW_ORGANIZATION.schema),
    responses: createdResponse(ORGANIZATION_SCHEMA, 'The organization'),
  },
  list: {
    operationId: 'listOrganizations',
    summary: 'Lists the organizations that you belong to',
    query: {},
    responses: { 200: { description: 'Oldest first', schema: arrayOf(ORGANIZATION_SCHEMA) } },
  },
  get: {
    operationId: 'getOrganization',
    summary: 'Reads an organization',
    responses: { 200: { description: 'The organization', schema: ORGANIZATION_SCHEMA } },
  },
  update: {
    operationId: 'updateOrganization',
    summary: 'Renames an organization',
    description: 'For owners.',
    request: enveloped('organization', NEW_ORGANIZATION.schema),
    responses: { 200: { description: 'The organization', schema: ORGANIZATION_SCHEMA } },
  },
  delete: {
    operationId: 'deleteOrganization',
    summary: 'Deletes an organization with everything that belongs to it',
    description:
      'For owners. Sessions and API keys of the organization end at once; namespaces and records go in the background. 403 while the operator has suspended one of its namespaces.',
    responses: DELETED,
  },
  switch: {
    operationId: 'switchOrganization',
    summary: 'Chooses the organization that this session acts for',
    description: 'Records, namespaces, webhooks, keys and usage are those of the organization from then on.',
    request: SESSION_SWITCH.schema,
    responses: { 200: { description: 'What the session acts for now', schema: SWITCHED } },
    errors: [404],
  },
  listMembers: {
    operationId: 'listMembers',
    summary: 'Lists the members of an organization',
    query: {},
    responses: { 200: { description: 'Longest membership first', schema: arrayOf(MEMBER_SCHEMA) } },
  },
  updateMember: {
    operationId: 'updateMember',
    summary: 'Changes the role of a member',
    description: 'For owners. The last owner stays an owner.',
    request: enveloped('member', MEMBER_PATCH.schema),
    responses: { 200: { description: 'The member', schema: MEMBER_SCHEMA } },
  },
  removeMember: {
    operationId: 'removeMember',
    summary: 'Removes a member, or leaves an organization',
    description:
      'Owners remove others; everybody may leave, except the last owner. The sessions in which that user acts for the organization end at once. The query tokens that the user minted in it are revoked, and the webhooks are disabled that the user made there, whose URL the user set last, or whose secrets the user was shown last. The invitations that the user sent end.',
    responses: DELETED,
    errors: [422],
  },
  invite: {
    operationId: 'createInvitation',
    summary: 'Invites an address by mail',
    description: `For owners. The invitation is valid for ${LIMITS.invitationDays} days, works once, and only for the user with this address. It replaces an earlier one. At most ${LIMITS.invitationsPerHour} an hour.`,
    headers,
    request: enveloped('invitation', NEW_INVITATION.schema),
    responses: createdResponse(INVITATION_SCHEMA, 'The invitation'),
  },
  listInvitations: {
    operationId: 'listInvitations',
    summary: 'Lists invitations that can still be accepted',
    description: 'For owners.',
    query: {},
    responses: { 200: { description: 'Oldest first', schema: arrayOf(INVITATION_SCHEMA) } },
  },
  withdraw: {
    operationId: 'deleteInvitation',
    summary: 'Withdraws an invitation',
    description: 'For owners.',
    responses: DELETED,
  },
  accept: {
    operationId: 'acceptInvitation',
    summary: 'Accepts an invitation',
    description: 'Every token that you cannot accept is 404.',
    headers,
    request: ACCEPTANCE.schema,
    responses: { 200: { description: 'The organization', schema: ORGANIZATION_SCHEMA } },
    errors: [404],
  },
});

/** Only with UQRP_ORGANIZATIONS: otherwise these paths do not exist. */
export function organizationRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/organizations', ROUTES.create, async (request, reply) => {
    const organization = await runOnce(deps, request, reply, (unit) =>
      createOrganization({ ...deps, unit }, userOf(request), envelope(request, 'organization')),
    );
    return created(deps, request, reply, organization);
  });
  app.get('/organizations', ROUTES.list, (request) => listOwnOrganizations(deps, userOf(request)));
  app.get('/organizations/:id', ROUTES.get, (request) =>
    getOrganization(deps, userOf(request), organizationId(request)),
  );
  app.patch('/organizations/:id', ROUTES.update, (request) =>
    patchOrganization(deps, userOf(request), organizationId(request), envelope(request, 'organization')),
  );
  app.delete('/organizations/:id', ROUTES.delete, (request) =>
    deleteOrganization(deps, userOf(request), organizationId(request)),
  );
  app.post('/auth/organization', ROUTES.switch, (request) =>
    switchOrganization(deps, userOf(request), jsonBody(request)),
  );
  memberRoutes(app, deps);
  invitationRoutes(app, deps);
}

function memberRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.get('/organizations/:id/members', ROUTES.listMembers, (request) =>
    listOrganizationMembers(deps, userOf(request), organizationId(request)),
  );
  app.patch('/organizations/:id/members/:user_id', ROUTES.updateMember, (request) => {
    const memberId = pathId(request, 'user_id', 'Member');
    return patchMember(deps, userOf(request), organizationId(request), memberId, envelope(request, 'member'));
  });
  app.delete('/organizations/:id/members/:user_id', ROUTES.removeMember, async (request) => {
    const memberId = pathId(request, 'user_id', 'Member');
    await removeMember(deps, userOf(request), organizationId(request), memberId);
  });
}

function invitationRoutes(app: FastifyInstance, deps: ApiDeps): void {
  app.post('/organizations/:id/invitations', ROUTES.invite, async (request, reply) => {
    const invitation = await runOnce(deps, request, reply, async (unit) => {
      const actor = userOf(request);
      await take(deps.limiter, 'invitations', actor.userId);
      return invite({ ...deps, unit }, actor, organizationId(request), envelope(request, 'invitation'));
    });
    return created(deps, request, reply, invitation);
  });
  app.get('/organizations/:id/invitations', ROUTES.listInvitations, (request) =>
    listOrganizationInvitations(deps, userOf(request), organizationId(request)),
  );
  app.delete('/organizations/:id/invitations/:invitation_id', ROUTES.withdraw, async (request) => {
    const invitationId = pathId(request, 'invitation_id', 'Invitation');
    await withdrawInvitation(deps, userOf(request), organizationId(request), invitationId);
  });
  app.post('/invitations/accept', ROUTES.accept, (request, reply) =>
    runOnce(deps, request, reply, (unit) =>
      acceptInvitation({ ...deps, unit }, userOf(request), jsonBody(request)),
    ),
  );
}

function organizationId(request: FastifyRequest): string {
  return pathId(request, 'id', 'Organization');
}
