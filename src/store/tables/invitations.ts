import { insertText, statement } from '../engine/statement.ts';
import type { InvitationsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type InvitationRow = InvitationsTable;

const DELETE_FORMER = statement<{ customer_id: string; email: string }>(
  'delete from invitations where customer_id = :customer_id and email = :email',
);
const INSERT = statement<InvitationRow>(
  insertText('invitations', 'id, customer_id, email, role, digest, expires_at, created_at'),
);

/** Replaces an earlier invitation of the same address to the same organization. */
export async function putInvitation(tx: Tx, invitation: InvitationRow): Promise<void> {
  await DELETE_FORMER.run(tx, invitation);
  await INSERT.run(tx, invitation);
}

const LIST = statement<{ customerId: string; now: number }, InvitationRow>(
  'select * from invitations where customer_id = :customerId and expires_at > :now order by created_at, id',
);

/** Those that can be accepted at `now`, oldest first. */
export function listInvitations(db: Db, customerId: string, now: number): Promise<InvitationRow[]> {
  return LIST.all(db, { customerId, now });
}

const DELETE_ENDED = statement<{ customerId: string; now: number }>(
  'delete from invitations where customer_id = :customerId and expires_at <= :now',
);

export async function deleteEndedInvitations(tx: Tx, customerId: string, now: number): Promise<void> {
  await DELETE_ENDED.run(tx, { customerId, now });
}

const FIND = statement<{ digest: string; email: string; now: number }, InvitationRow>(
  'select * from invitations where digest = :digest and email = :email and expires_at > :now',
);

/** @param digest lower-case hex SHA-256 of the token. @param email of the user who wants to accept it */
export function findInvitation(
  db: Db,
  digest: string,
  email: string,
  now: number,
): Promise<InvitationRow | null> {
  return FIND.first(db, { digest, email, now });
}

const DELETE = statement<{ id: string; customerId: string }>(
  'delete from invitations where id = :id and customer_id = :customerId',
);

/** @returns false when the organization has no such invitation any more */
export async function deleteInvitation(tx: Tx, id: string, customerId: string): Promise<boolean> {
  return (await DELETE.run(tx, { id, customerId })) > 0;
}
