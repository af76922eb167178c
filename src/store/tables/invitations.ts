import type { InvitationsTable } from '../schema.ts';
import type { Db, Tx } from '../store.ts';

export type InvitationRow = InvitationsTable;

/** Replaces an earlier invitation of the same address to the same organization. */
export async function putInvitation(tx: Tx, invitation: InvitationRow): Promise<void> {
  await tx
    .deleteFrom('invitations')
    .where('customer_id', '=', invitation.customer_id)
    .where('email', '=', invitation.email)
    .execute();
  await tx.insertInto('invitations').values(invitation).execute();
}

/** Those that can be accepted at `now`, oldest first. */
export function listInvitations(db: Db, customerId: string, now: number): Promise<InvitationRow[]> {
  return db
    .selectFrom('invitations')
    .selectAll()
    .where('customer_id', '=', customerId)
    .where('expires_at', '>', now)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export async function deleteEndedInvitations(tx: Tx, customerId: string, now: number): Promise<void> {
  await tx
    .deleteFrom('invitations')
    .where('customer_id', '=', customerId)
    .where('expires_at', '<=', now)
    .execute();
}

/** @param digest lower-case hex SHA-256 of the token. @param email of the user who wants to accept it */
export async function findInvitation(
  db: Db,
  digest: string,
  email: string,
  now: number,
): Promise<InvitationRow | null> {
  const row = await db
    .selectFrom('invitations')
    .selectAll()
    .where('digest', '=', digest)
    .where('email', '=', email)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row ?? null;
}

/** @returns false when the organization has no such invitation any more */
export async function deleteInvitation(tx: Tx, id: string, customerId: string): Promise<boolean> {
  const row = await tx
    .deleteFrom('invitations')
    .where('id', '=', id)
    .where('customer_id', '=', customerId)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
