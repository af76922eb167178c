import { namespaceSuspended } from '../../base/errors.ts';
import { markWork } from '../../store/engine/unit-marks.ts';
import { closeCustomer, hasSuspendedNamespace } from '../../store/tables/customers.ts';
import { closeWebhooks } from '../../store/webhooks/webhooks.ts';
import { type Actor, requireSession } from '../accounts/actor.ts';
import type { HasStore } from '../accounts/deps.ts';
import { lockAsOwner } from './organizations.ts';

/**
 * Closes an organization: nobody finds it, no session or API key of it counts, and its webhooks send nothing more. Later units delete
 * its namespaces and at last itself (`namespaces/customer-deletion.ts`), as with the account of a user.
 * @throws AppError 403 for an API key, a user who is no owner, or with a suspended namespace; 404
 */
export async function deleteOrganization({ store }: HasStore, actor: Actor, id: string): Promise<void> {
  requireSession(actor);
  const { userId } = actor;
  await store.write(async (tx) => {
    await lockAsOwner(tx, id, userId);
    // Its name would be free again: the suspension could be ended so.
    if (await hasSuspendedNamespace(tx, id)) throw namespaceSuspended();
    await closeWebhooks(tx, id);
    await closeCustomer(tx, id);
    markWork(tx, 'deletions');
    markWork(tx, 'credentials');
  });
}
