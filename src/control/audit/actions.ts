/** How use cases write the audit log: one row in the unit of each action. */
import type { Actor } from '../../http/actor.ts';
import type { AuditAction, AuditObjectKind } from '../../protocol/audit.ts';
import type { ApiKeyRow } from '../../store/api-keys.ts';
import { addAuditRow, addAuditRows, type NewAuditRow } from '../../store/audit.ts';
import type { NamespaceRow } from '../../store/namespaces.ts';
import type { InvitationRow, OrganizationRow } from '../../store/organizations.ts';
import type { PasskeyRow } from '../../store/passkeys.ts';
import type { QueryTokenRow } from '../../store/query-tokens.ts';
import type { RecordsTable } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';
import type { WebhookRow } from '../../store/webhooks/webhooks.ts';

type ObjectColumns = Pick<NewAuditRow, 'object_kind' | 'object_id' | 'object_name' | 'namespace' | 'count'>;

declare const made: unique symbol;

/** What an action was done to. Only the functions of `audited` make one, of rows that have an id and a name: no text of a request fits in. */
export type AuditObject = ObjectColumns & { readonly [made]: true };

function objectOf(
  kind: AuditObjectKind,
  id: string | null,
  more: Partial<Pick<ObjectColumns, 'object_name' | 'namespace' | 'count'>> = {},
): AuditObject {
  const columns: ObjectColumns = {
    object_kind: kind,
    object_id: id,
    object_name: null,
    namespace: null,
    count: null,
    ...more,
  };
  return columns as AuditObject;
}

export const audited = {
  record: ({ id, key }: Pick<RecordsTable, 'id' | 'key'>, namespace: string): AuditObject =>
    objectOf('record', id, { object_name: key, namespace }),
  /** A key that need not have a record. */
  key: (key: string, namespace: string): AuditObject =>
    objectOf('record', null, { object_name: key, namespace }),
  /** @param namespace null: several. @param record where there is only one */
  records: (
    count: number,
    namespace: string | null,
    record?: Pick<RecordsTable, 'id' | 'key'>,
  ): AuditObject =>
    objectOf('record', record?.id ?? null, { object_name: record?.key ?? null, namespace, count }),
  namespace: ({ id, name }: Pick<NamespaceRow, 'id' | 'name'>): AuditObject =>
    objectOf('namespace', id, { object_name: name, namespace: name }),
  /** A setting that the operator switches. `auditResource` reads it from the count: so few rows need no column of their own. */
  namespaceSwitch: ({ id, name }: Pick<NamespaceRow, 'id' | 'name'>, on: boolean): AuditObject =>
    objectOf('namespace', id, { object_name: name, namespace: name, count: on ? 1 : 0 }),
  apiKey: ({ id, name }: Pick<ApiKeyRow, 'id' | 'name'>): AuditObject =>
    objectOf('api_key', id, { object_name: name }),
  queryToken: ({ id, name }: Pick<QueryTokenRow, 'id' | 'name'>, namespace: string): AuditObject =>
    objectOf('query_token', id, { object_name: name, namespace }),
  webhook: ({ id, name }: Pick<WebhookRow, 'id' | 'name'>): AuditObject =>
    objectOf('webhook', id, { object_name: name }),
  session: (id: string): AuditObject => objectOf('session', id),
  sessions: (count: number): AuditObject => objectOf('session', null, { count }),
  passkey: ({ id, name }: Pick<PasskeyRow, 'id' | 'name'>): AuditObject =>
    objectOf('passkey', id, { object_name: name }),
  organization: ({ id, name }: Pick<OrganizationRow, 'id' | 'name'>): AuditObject =>
    objectOf('organization', id, { object_name: name }),
  /** The address is read from `users`, so that it is gone with the user. */
  member: (userId: string): AuditObject => objectOf('member', userId),
  invitation: ({ id, email }: Pick<InvitationRow, 'id' | 'email'>): AuditObject =>
    objectOf('invitation', id, { object_name: email }),
  account: (id: string): AuditObject => objectOf('account', id),
} as const;

/** Who acts, as a row has it. */
type AuditBy = Pick<NewAuditRow, 'request_id' | 'actor_kind' | 'actor_id' | 'actor_name'>;

const NOBODY = { request_id: null, actor_id: null, actor_name: null } as const;

/** Whoever runs the command line. */
export const BY_OPERATOR: AuditBy = { ...NOBODY, actor_kind: 'operator' };

/** The server itself. */
export const BY_SYSTEM: AuditBy = { ...NOBODY, actor_kind: 'system' };

/** A user who acts before there is a session. */
export function byUser(id: string, requestId: string | null): AuditBy {
  return { request_id: requestId, actor_kind: 'user', actor_id: id, actor_name: null };
}

/** Without key and user it is the operator, in the owner's name. */
export function byActor({ apiKey, userId, requestId }: Actor): AuditBy {
  if (apiKey === null && userId === null) return BY_OPERATOR;
  return {
    request_id: requestId,
    actor_kind: apiKey === null ? 'user' : 'api_key',
    actor_id: apiKey?.id ?? userId,
    actor_name: apiKey?.name ?? null,
  };
}

interface RecordFacts {
  /** `updated_at` of the record. */
  readonly before?: number;
  readonly after?: number;
  /** As `appendChanges` gave it. */
  readonly seq?: number;
}

/** Writes the row of an action into the log of the actor's customer. Call it in the unit of the action, when nothing of it can be refused any more. */
export function audit(
  tx: Tx,
  actor: Actor,
  at: number,
  action: AuditAction,
  object: AuditObject,
  facts: RecordFacts = {},
): Promise<void> {
  return addAuditRow(tx, rowOf(actor.customerId, byActor(actor), at, action, object, facts));
}

/** As `audit`, into the log of a customer that nobody acts for. */
export function auditFor(
  tx: Tx,
  customerId: string,
  by: AuditBy,
  at: number,
  action: AuditAction,
  object: AuditObject,
  facts: RecordFacts = {},
): Promise<void> {
  return addAuditRow(tx, rowOf(customerId, by, at, action, object, facts));
}

/** One row of the server itself for each group of records that went in one unit, such as at their expiry. */
export function auditExpiries(
  tx: Tx,
  at: number,
  seq: number,
  groups: readonly { readonly customerId: string; readonly object: AuditObject }[],
): Promise<void> {
  const rows = groups.map(({ customerId, object }) =>
    rowOf(customerId, BY_SYSTEM, at, 'record.deleted', object, { seq }),
  );
  return addAuditRows(tx, rows);
}

function rowOf(
  customerId: string,
  by: AuditBy,
  at: number,
  action: AuditAction,
  object: AuditObject,
  { before, after, seq }: RecordFacts,
): NewAuditRow {
  const { request_id, actor_kind, actor_id, actor_name } = by;
  const { object_kind, object_id, object_name, namespace, count } = object;
  return {
    customer_id: customerId,
    at,
    request_id,
    actor_kind,
    actor_id,
    actor_name,
    action,
    outcome: 'done',
    object_kind,
    object_id,
    object_name,
    namespace,
    count,
    tag_before: before ?? null,
    tag_after: after ?? null,
    seq: seq ?? null,
  };
}
