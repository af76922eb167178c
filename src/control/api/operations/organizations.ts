import { arrayOf, type ObjectSchema } from '../../../core/input/schema.ts';
import { enveloped } from '../../../core/input/shape.ts';
import { LIMITS } from '../../../core/limits.ts';
import {
  ACCEPTANCE,
  INVITATION_SCHEMA,
  MEMBER_PATCH,
  MEMBER_SCHEMA,
  NEW_INVITATION,
  NEW_ORGANIZATION,
  ORGANIZATION_SCHEMA,
  SESSION_SWITCH,
} from '../../organizations/input.ts';
import { createdResponse, DELETED, madeResponse, type Operation } from '../openapi/operation.ts';

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

export const ORGANIZATION_OPERATIONS = {
  ...ORGANIZATIONS,
  ...MEMBERS,
  ...INVITATIONS,
} as const satisfies Readonly<Record<string, Operation>>;
