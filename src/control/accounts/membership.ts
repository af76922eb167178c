import { unauthenticated } from '../../base/errors.ts';
import { nextTurn } from '../../base/lifecycle/timers.ts';
import type { Actor } from '../../http/actor.ts';
import { resourceSchema, UUID } from '../../protocol/input/schema.ts';
import { lockCustomers, mailsOfUsers, roleInSession } from '../../store/accounts.ts';
import { isLiveApiKey } from '../../store/api-keys.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import { deleteInvitationsOf, revokeSessionsIn } from '../../store/organizations.ts';
import { revokeTokensOf, revokeTokensOfSessions } from '../../store/query-tokens.ts';
import type { Db, Tx } from '../../store/store.ts';
import { pauseWebhooksOf } from '../../store/webhooks/webhooks.ts';
import { audited, auditFor, type byActor } from '../audit/actions.ts';
import type { HasClock, HasStore } from '../deps.ts';

const ENDED = 'Credentials are not valid';

/**
 * Begins a unit that writes for an actor: holds the row of the customer, and of a user also that of their own customer, until the unit ends.
 * Who ends a credential holds one of them too: a key and a membership end under the row of their customer, a session under that of its user.
 * So what ends it comes before this unit, which is refused, or after it, and passes what it wrote. The credential is read when the rows are
 * held: the guard of the request read it long before, where a body, a name server or another unit was waited for.
 * @param others further customers that the unit holds. All are taken in the order of their ids: taken later, they could meet a unit that
 *   holds them and waits for this one
 * @returns the actor with the role that they have now
 * @throws AppError 401 when the credential or the membership has ended, or the account is being deleted
 */
export async function holdActor<A extends Actor>(
  tx: Tx,
  actor: A,
  now: number,
  others: readonly string[] = [],
): Promise<A> {
  const { customerId, userId, sessionId, apiKey } = actor;
  const open = await lockCustomers(tx, [customerId, ...(userId === null ? [] : [userId]), ...others]);
  if (!open.has(customerId)) throw unauthenticated(ENDED);
  if (userId !== null && sessionId !== null) {
    const role = await roleInSession(tx, { id: sessionId, userId, customerId, now });
    if (role === null) throw unauthenticated(ENDED);
    return { ...actor, role };
  }
  if (apiKey !== null && !(await isLiveApiKey(tx, apiKey.id, now))) throw unauthenticated(ENDED);
  return actor;
}

/** `RunUnit` without a request: see there. */
export function writeAs<A extends Actor, T>(
  { store, clock }: HasStore & HasClock,
  actor: A,
  work: (tx: Tx, held: A) => Promise<T>,
  others: readonly string[] = [],
): Promise<T> {
  return store.write(async (tx) => work(tx, await holdActor(tx, actor, clock(), others)));
}

/** Tokens revoked at a time. */
const BATCH = 500;

/** Who made a query token or a webhook. */
export interface Maker {
  readonly user_id: string;
  /** Null for a reader who is no owner, and when the user's account was deleted. */
  readonly email: string | null;
}

const MAKER_SCHEMA = resourceSchema<Maker>('Maker', {
  user_id: UUID,
  email: {
    type: ['string', 'null'],
    description: 'Only for owners. null when the account was deleted',
    examples: ['me@example.com'],
  },
});

export const MADE_BY = {
  anyOf: [MAKER_SCHEMA, { type: 'null' }],
  description: 'Who made it. null: an API key or the operator, or it is older than this field',
} as const;

/** The makers of rows as the actor may see them. @param ids `created_by` of the rows */
export async function makersFor(
  db: Db,
  actor: Actor,
  ids: readonly (string | null)[],
): Promise<(id: string | null) => Maker | null> {
  const wanted = new Set(ids.filter((id) => id !== null));
  const mails = actor.role === 'owner' ? await mailsOfUsers(db, [...wanted]) : new Map<string, string>();
  return (id) => (id === null ? null : { user_id: id, email: mails.get(id) ?? null });
}

/**
 * Ends what a user made in a customer, in the unit that ends the membership: query tokens are revoked, webhooks rest until an owner
 * enables them. The unit holds the customer's row, as that of who makes them (`holdActor`), so that nothing is made meanwhile.
 */
export async function endWhatUserMade(
  tx: Tx,
  customerId: string,
  userId: string,
  now: number,
): Promise<void> {
  await pauseWebhooksOf(tx, customerId, userId, now);
  await untilFew(async () => {
    const revoked = await revokeTokensOf(tx, customerId, userId, now, BATCH);
    return tellRevoked(
      tx,
      revoked.map((token) => ({ ...token, owner: customerId })),
      now,
    );
  });
}

/**
 * Ends the invitations that an owner sent, in the unit that ends the ownership: they let the person in again, as an owner too, by another
 * address. The unit holds the organization's row, as that which invites.
 */
export async function endInvitationsOf(
  tx: Tx,
  customerId: string,
  userId: string,
  by: ReturnType<typeof byActor>,
  now: number,
): Promise<void> {
  for (const invitation of await deleteInvitationsOf(tx, customerId, userId)) {
    await auditFor(tx, customerId, by, now, 'member.removed', audited.invitation(invitation));
  }
}

/**
 * Ends the sessions that act for an organization whose row the unit holds. A mint of such a session may hold the session, and not that row:
 * call it before anything is written to the log, for which the mint would wait.
 * @param userId whose; null: those of all members
 */
export async function endSessionsIn(
  tx: Tx,
  customerId: string,
  userId: string | null,
  now: number,
): Promise<void> {
  await endTokensOfSessions(tx, await revokeSessionsIn(tx, customerId, userId, now), now);
}

/** Revokes the query tokens of sessions, in the unit that ends them. */
export async function endTokensOfSessions(tx: Tx, ids: readonly string[], now: number): Promise<void> {
  if (ids.length === 0) return;
  await untilFew(async () => tellRevoked(tx, await revokeTokensOfSessions(tx, ids, now, BATCH), now));
}

async function tellRevoked(
  tx: Tx,
  revoked: readonly { readonly namespace: string; readonly digest: string; readonly owner: string }[],
  now: number,
): Promise<number> {
  const changes = revoked.map((token) => ({ type: 'token.revoked', ...token, cause: 'direct' }) as const);
  if (changes.length > 0) await appendChanges(tx, changes, now);
  return revoked.length;
}

async function untilFew(run: () => Promise<number>): Promise<void> {
  // SQLite statements are synchronous: without this, nothing else runs until the last batch.
  while ((await run()) === BATCH) await nextTurn();
}
