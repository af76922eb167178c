/** Which action each request of the API is that changes anything, or reads what an action reads. A test goes through the OpenAPI document. */
import type { AuditAction } from '../../protocol/audit.ts';

interface AuditedOperation {
  readonly action: AuditAction;
  /** The path parameter that has the id of the object. Absent: the object is not known before the request is done. */
  readonly id?: string;
  /** The path begins with an organization, in whose log it is. */
  readonly ofOrganization?: true;
}

const ORGANIZATION = { ofOrganization: true } as const;

/** By `operationId`. */
export const AUDITED_OPERATIONS: Readonly<Record<string, AuditedOperation>> = {
  verifyCode: { action: 'sign_in.done' },
  verifyPasskeySignIn: { action: 'sign_in.done' },
  signOut: { action: 'session.ended' },
  deleteSession: { action: 'session.ended', id: 'id' },
  deleteSessions: { action: 'session.ended' },
  createPasskey: { action: 'passkey.added' },
  deletePasskey: { action: 'passkey.removed', id: 'id' },
  createApiKey: { action: 'api_key.created' },
  deleteApiKey: { action: 'api_key.deleted', id: 'id' },
  createQueryToken: { action: 'query_token.minted' },
  revokeQueryToken: { action: 'query_token.revoked', id: 'token_id' },
  createNamespace: { action: 'namespace.created' },
  updateNamespace: { action: 'namespace.changed', id: 'id' },
  deleteNamespace: { action: 'namespace.deleted', id: 'id' },
  exportRecords: { action: 'namespace.exported', id: 'id' },
  createRecord: { action: 'record.created' },
  updateRecord: { action: 'record.changed', id: 'id' },
  deleteRecord: { action: 'record.deleted', id: 'id' },
  restoreRecord: { action: 'record.restored', id: 'id' },
  restoreDeletedRecord: { action: 'record.restored' },
  writeRecords: { action: 'record.bulk' },
  undoWrite: { action: 'record.undone' },
  getRecordVersion: { action: 'versions.read', id: 'id' },
  eraseRecordVersions: { action: 'versions.erased', id: 'id' },
  eraseKeyVersions: { action: 'versions.erased' },
  createWebhook: { action: 'webhook.created' },
  updateWebhook: { action: 'webhook.changed', id: 'id' },
  deleteWebhook: { action: 'webhook.deleted', id: 'id' },
  regenerateWebhookSecret: { action: 'webhook.secret_renewed', id: 'id' },
  testWebhook: { action: 'webhook.tested', id: 'id' },
  redeliverWebhookDelivery: { action: 'webhook.redelivered', id: 'id' },
  createOrganization: { action: 'organization.created' },
  updateOrganization: { action: 'organization.changed', id: 'id', ...ORGANIZATION },
  deleteOrganization: { action: 'organization.deleted', id: 'id', ...ORGANIZATION },
  createInvitation: { action: 'member.invited', ...ORGANIZATION },
  deleteInvitation: { action: 'member.removed', ...ORGANIZATION },
  acceptInvitation: { action: 'member.joined' },
  updateMember: { action: 'member.changed', id: 'user_id', ...ORGANIZATION },
  removeMember: { action: 'member.removed', id: 'user_id', ...ORGANIZATION },
  deleteMe: { action: 'account.deleted' },
};

/** Requests with a POST, PATCH or DELETE that are no action, with the reason. */
export const NO_ACTION: Readonly<Record<string, string>> = {
  signIn: 'it mails a code; nobody is signed in by it',
  switchOrganization:
    'it changes what the session of the request acts for, and nothing that belongs to anybody',
  createPasskeyOptions: 'it stores nothing',
  createPasskeySignInOptions: 'it stores nothing',
};
