import { LIMITS } from '../../base/limits.ts';
import { TIERS, type Tier } from '../../base/tiers.ts';
import { nameOf } from '../../protocol/input/readers.ts';
import { COUNT, HEX_SECRET, resourceSchema, TIME, UUID } from '../../protocol/input/schema.ts';
import { optional, type Reader, required, shape } from '../../protocol/input/shape.ts';
import type { MemberRole } from '../../store/schema.ts';
import { normalizeEmail } from '../accounts/users.ts';

export interface OrganizationResource {
  readonly id: string;
  readonly name: string;
  /** Of the caller. */
  readonly role: MemberRole;
  readonly tier: Tier;
  readonly members_count: number;
  readonly created_at: string;
}

export interface MemberResource {
  readonly user_id: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly created_at: string;
}

export interface InvitationResource {
  readonly id: string;
  readonly email: string;
  readonly role: MemberRole;
  readonly expires_at: string;
  readonly created_at: string;
}

const UUID_TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TOKEN_TEXT = new RegExp(HEX_SECRET.pattern);
const ROLES: readonly MemberRole[] = ['owner', 'member'];
const EMAIL_SCHEMA = { type: 'string', examples: ['colleague@example.com'] } as const;
const ROLE_SCHEMA = { type: 'string', enum: ROLES } as const;
const NAME_SCHEMA = { type: 'string', examples: ['Acme'] } as const;

export const ORGANIZATION_SCHEMA = resourceSchema<OrganizationResource>('Organization', {
  id: UUID,
  name: NAME_SCHEMA,
  role: { ...ROLE_SCHEMA, description: 'Of the caller' },
  tier: { type: 'string', enum: Object.keys(TIERS) },
  members_count: COUNT,
  created_at: TIME,
});

export const MEMBER_SCHEMA = resourceSchema<MemberResource>('Member', {
  user_id: UUID,
  email: EMAIL_SCHEMA,
  role: ROLE_SCHEMA,
  created_at: TIME,
});

export const INVITATION_SCHEMA = resourceSchema<InvitationResource>('Invitation', {
  id: UUID,
  email: EMAIL_SCHEMA,
  role: ROLE_SCHEMA,
  expires_at: TIME,
  created_at: TIME,
});

const EMAIL: Reader<string> = {
  schema: EMAIL_SCHEMA,
  read(fields, name) {
    const text = fields.text(name);
    if (text === undefined) return undefined;
    const email = normalizeEmail(text);
    if (email !== null) return email;
    fields.fault(name, 'is not an email address');
    return undefined;
  },
};

const ROLE: Reader<MemberRole> = {
  schema: ROLE_SCHEMA,
  read(fields, name) {
    const text = fields.text(name);
    const role = ROLES.find((known) => known === text);
    if (text !== undefined && role === undefined) fields.fault(name, 'must be owner or member');
    return role;
  },
};

const ID_OR_NULL: Reader<string | null> = {
  schema: { ...UUID, type: ['string', 'null'] },
  read(fields, name) {
    if (fields.isNull(name)) return null;
    const text = fields.text(name);
    if (text === undefined || UUID_TEXT.test(text)) return text?.toLowerCase();
    fields.fault(name, 'must be an id or null');
    return undefined;
  },
};

const TOKEN: Reader<string> = {
  schema: HEX_SECRET,
  read(fields, name) {
    const text = fields.text(name);
    if (text === undefined || TOKEN_TEXT.test(text)) return text;
    fields.fault(name, 'is not the token of an invitation');
    return undefined;
  },
};

export const NEW_ORGANIZATION = shape('NewOrganization', {
  name: required(nameOf(LIMITS.organizationName, 'Acme')),
});

export const MEMBER_PATCH = shape('MemberPatch', { role: required(ROLE) });

export const NEW_INVITATION = shape('NewInvitation', { email: required(EMAIL), role: optional(ROLE) });

export const ACCEPTANCE = shape('InvitationAcceptance', { token: required(TOKEN) });

export const SESSION_SWITCH = shape('SessionOrganization', { organization_id: required(ID_OR_NULL) });
