/** The audit log as the API names it: the closed table of actions. No other action can be written. */

export const AUDIT_ACTIONS = [
  'sign_in.done',
  'sign_in.failed',
  'session.ended',
  'passkey.added',
  'passkey.removed',
  'api_key.created',
  'api_key.deleted',
  'query_token.minted',
  'query_token.revoked',
  'namespace.created',
  'namespace.changed',
  'namespace.deleted',
  'namespace.exported',
  'record.created',
  'record.changed',
  'record.deleted',
  'record.restored',
  'record.bulk',
  'record.undone',
  'versions.read',
  'versions.erased',
  'webhook.created',
  'webhook.changed',
  'webhook.deleted',
  'webhook.secret_renewed',
  'webhook.tested',
  'webhook.redelivered',
  'organization.created',
  'organization.changed',
  'organization.deleted',
  'member.invited',
  'member.joined',
  'member.changed',
  'member.removed',
  'account.deleted',
  'operator.tier',
  'operator.public_read',
  'operator.suspended',
  'operator.user_deleted',
  'operator.audit_read',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who acted. `system`: the server itself, such as at an expiry. */
export const AUDIT_ACTORS = ['user', 'api_key', 'operator', 'system'] as const;
export type AuditActorKind = (typeof AUDIT_ACTORS)[number];

/** `refused`: 403. */
export const AUDIT_OUTCOMES = ['done', 'refused'] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

export const AUDIT_OBJECTS = [
  'record',
  'namespace',
  'api_key',
  'query_token',
  'webhook',
  'session',
  'passkey',
  'organization',
  'member',
  'invitation',
  'account',
] as const;
export type AuditObjectKind = (typeof AUDIT_OBJECTS)[number];
