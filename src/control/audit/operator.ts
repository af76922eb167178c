/** The look of the operator into a customer's log. It is a row of that log itself. */
import { notFound } from '../../base/errors.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { findUserByEmail } from '../../store/accounts.ts';
import type { HasClock, HasStore } from '../deps.ts';
import { audited, auditFor, BY_OPERATOR } from './actions.ts';
import { type AuditResource, auditBatches, readAuditFilter } from './list.ts';

interface OperatorLook {
  /** As the query of `GET /audit` has them. */
  readonly filters: Readonly<Record<string, string>>;
  /** Rows at most. */
  readonly limit: number;
  /** With ids, names and namespaces. */
  readonly withNames: boolean;
}

/** The log of a user's own account, newest first. Without names it has kinds, actions and times. @throws AppError 404; 400 for a filter */
export async function auditForOperator(
  { store, clock }: HasStore & HasClock,
  email: string,
  { filters, limit, withNames }: OperatorLook,
): Promise<AuditResource[]> {
  const user = await findUserByEmail(store.read, foldCase(email.trim()));
  if (user === null) throw notFound('User');
  const filter = readAuditFilter(filters);
  await store.write((tx) =>
    auditFor(tx, user.id, BY_OPERATOR, clock(), 'operator.audit_read', audited.account(user.id)),
  );
  const rows: AuditResource[] = [];
  for await (const batch of auditBatches({ store, positions: null }, user.id, filter)) {
    rows.push(...batch.map((row) => (withNames ? row : withoutNames(row))));
    if (rows.length >= limit) break;
  }
  return rows.slice(0, limit);
}

function withoutNames({ at, actor, action, outcome, object }: AuditResource): AuditResource {
  return {
    id: '',
    at,
    request_id: null,
    actor: { kind: actor.kind, id: null, name: null },
    action,
    outcome,
    object: {
      kind: object.kind,
      id: null,
      name: null,
      namespace: null,
      count: object.count,
      ...(object.on !== undefined && { on: object.on }),
    },
    etag_before: null,
    etag_after: null,
    seq: null,
  };
}
