import { invalid, namespaceSuspended, notFound } from '../../base/errors.ts';
import type { JsonObject } from '../../protocol/input/fields.ts';
import { textOf } from '../../protocol/input/readers.ts';
import { required, shape } from '../../protocol/input/shape.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { markWork } from '../../store/engine/unit-marks.ts';
import type { Tx } from '../../store/store.ts';
import { closeCustomer, hasSuspendedNamespace, lockCustomer } from '../../store/tables/customers.ts';
import { countOtherOwners, membershipsOf } from '../../store/tables/organizations.ts';
import { deleteUser, findUserByEmail } from '../../store/tables/users.ts';
import { closeWebhooks } from '../../store/webhooks/webhooks.ts';
import { type Actor, requireSession } from './actor.ts';
import type { HasClock, HasStore } from './deps.ts';
import { endWhatUserMade } from './made-by.ts';

/** The address, typed again: proof that the user means it. */
export const ACCOUNT_DELETION = shape('AccountDeletion', {
  email: required(textOf({ examples: ['me@example.com'] })),
});

const OTHER_ADDRESS = 'email is not the address of this account';
const LAST_OWNER =
  'The last owner of an organization cannot delete the account: make another member an owner first';

/**
 * DELETE /me. Signed out everywhere, with the address free, when it returns; the rest goes in later units.
 * @throws AppError 403 for an API key, or with a suspended namespace; 422 for another address, or the last owner of an organization
 */
export async function deleteOwnAccount(
  { store, clock }: HasStore & HasClock,
  actor: Actor,
  body: JsonObject,
): Promise<void> {
  requireSession(actor);
  const { userId } = actor;
  const { email } = ACCOUNT_DELETION.parse(body, undefined);
  await store.write(async (tx) => {
    const user = await findUserByEmail(tx, foldCase(email.trim()));
    if (user?.id !== userId) throw invalid(OTHER_ADDRESS);
    await lockCustomer(tx, userId);
    // Its name would be free again: the suspension could be ended so.
    if (await hasSuspendedNamespace(tx, userId)) throw namespaceSuspended();
    await closeAccount(tx, userId, clock());
  });
}

/** For the operator, also with suspended namespaces. @throws AppError 404; 422 for the last owner of an organization */
export async function deleteAccount({ store, clock }: HasStore & HasClock, email: string): Promise<void> {
  await store.write(async (tx) => {
    const user = await findUserByEmail(tx, foldCase(email.trim()));
    if (user === null) throw notFound('User');
    await lockCustomer(tx, user.id);
    await closeAccount(tx, user.id, clock());
  });
}

/**
 * Deletes the user, with sessions, passkeys and memberships, what the user made in organizations, and the keys; closes the webhooks; and leaves the namespaces to later
 * units (`namespaces/customer-deletion.ts`). Nothing that is left names a person.
 */
async function closeAccount(tx: Tx, id: string, now: number): Promise<void> {
  for (const { customer_id: organization, role } of await membershipsOf(tx, id)) {
    await lockCustomer(tx, organization);
    if (role === 'owner' && (await countOtherOwners(tx, organization, id)) === 0) throw invalid(LAST_OWNER);
    await endWhatUserMade(tx, organization, id, now);
  }
  await closeWebhooks(tx, id);
  await closeCustomer(tx, id);
  await deleteUser(tx, id);
  markWork(tx, 'deletions');
  markWork(tx, 'credentials');
}
