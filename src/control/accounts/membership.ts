import { unauthenticated } from '../../base/errors.ts';
import { nextTurn } from '../../base/lifecycle/timers.ts';
import type { Actor } from '../../http/actor.ts';
import { resourceSchema, UUID } from '../../protocol/input/schema.ts';
import { lockCustomer, mailsOfUsers } from '../../store/accounts.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import { findMember } from '../../store/organizations.ts';
import { revokeTokensOf, revokeTokensOfSession } from '../../store/query-tokens.ts';
import type { Db, Tx } from '../../store/store.ts';
import { pauseWebhooksOf } from '../../store/webhooks/webhooks.ts';

/**
 * For a unit that adds to what a customer owns: holds the customer's row until the unit ends. The account may have been deleted since
 * the request began, and its deletion has already passed what the unit would add.
 * @throws AppError 401
 */
export async function holdCustomer(tx: Tx, id: string): Promise<void> {
  if (!(await lockCustomer(tx, id))) throw unauthenticated('Credentials are not valid');
}

/**
 * For a unit that makes what ends with a membership: holds the customer's row, and refuses a user who was removed since the request
 * began. The removal has already passed what the unit would make. @throws AppError 401
 */
export async function holdActor(tx: Tx, { customerId, userId }: Actor): Promise<void> {
  await holdCustomer(tx, customerId);
  if (userId === null || userId === customerId) return;
  if ((await findMember(tx, customerId, userId)) === null) throw unauthenticated('Credentials are not valid');
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
 * enables them. The unit holds the customer's row (`holdActor`), so that nothing is made meanwhile.
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

/** Revokes the query tokens of a session, in the unit that ends it. */
export async function endTokensOfSession(tx: Tx, sessionId: string, now: number): Promise<void> {
  await untilFew(async () => tellRevoked(tx, await revokeTokensOfSession(tx, sessionId, now, BATCH), now));
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
