/** How use cases write the audit log: one row in the unit of each action. */
import type { Actor } from '../../http/actor.ts';
import type { AuditAction, AuditActorKind, AuditObjectKind } from '../../protocol/audit.ts';
import type { ApiKeyRow } from '../../store/api-keys.ts';
import { addAuditRow, type NewAuditRow } from '../../store/audit.ts';
import type { NamespaceRow } from '../../store/namespaces.ts';
import type { QueryTokenRow } from '../../store/query-tokens.ts';
import type { RecordsTable } from '../../store/records.ts';
import type { Tx } from '../../store/store.ts';

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
  apiKey: ({ id, name }: Pick<ApiKeyRow, 'id' | 'name'>): AuditObject =>
    objectOf('api_key', id, { object_name: name }),
  queryToken: ({ id, name }: Pick<QueryTokenRow, 'id' | 'name'>, namespace: string): AuditObject =>
    objectOf('query_token', id, { object_name: name, namespace }),
} as const;

/** Who acts where there is no `Actor`. */
type Background = 'operator' | 'system';

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
  return addAuditRow(tx, rowOf(actor.customerId, actor, at, action, object, facts));
}

/** As `audit`, into the log of a customer that the actor does not act for. */
export function auditFor(
  tx: Tx,
  customerId: string,
  by: Actor | Background,
  at: number,
  action: AuditAction,
  object: AuditObject,
  facts: RecordFacts = {},
): Promise<void> {
  return addAuditRow(tx, rowOf(customerId, by, at, action, object, facts));
}

export function rowOf(
  customerId: string,
  by: Actor | Background,
  at: number,
  action: AuditAction,
  object: AuditObject,
  { before, after, seq }: RecordFacts,
): NewAuditRow {
  const isBackground = typeof by === 'string';
  const kind = isBackground ? by : kindOf(by);
  return {
    customer_id: customerId,
    at,
    request_id: isBackground ? null : by.requestId,
    actor_kind: kind,
    actor_id: isBackground ? null : (by.apiKey?.id ?? by.userId),
    actor_name: isBackground ? null : (by.apiKey?.name ?? null),
    action,
    outcome: 'done',
    object_kind: object.object_kind,
    object_id: object.object_id,
    object_name: object.object_name,
    namespace: object.namespace,
    count: object.count,
    tag_before: before ?? null,
    tag_after: after ?? null,
    seq: seq ?? null,
  };
}

/** Without key and user it is the operator, in the owner's name. */
function kindOf({ apiKey, userId }: Actor): AuditActorKind {
  if (apiKey !== null) return 'api_key';
  return userId === null ? 'operator' : 'user';
}
