import { notFound } from '../../base/errors.ts';
import { formatTime } from '../../base/text/time.ts';
import { TIERS, type Tier } from '../../base/tiers.ts';
import { lockCustomer, updateTier } from '../../store/tables/customers.ts';
import { allOrganizations } from '../../store/tables/organizations.ts';
import { pauseWebhooksAbove } from '../../store/webhooks/webhooks.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';

export interface OrganizationListing {
  readonly id: string;
  readonly name: string;
  readonly tier: Tier;
  readonly records_count: number;
  readonly members_count: number;
  /** Mail address of the owner who has belonged to it for longest. */
  readonly owner: string;
  readonly created_at: string;
}

/** For the operator. Oldest first. */
export async function listAllOrganizations({ store }: HasStore): Promise<OrganizationListing[]> {
  const rows = await allOrganizations(store.read);
  return rows.map((row) => ({ ...row, created_at: formatTime(row.created_at) }));
}

/** For the operator. Works like `setTier` does for the account of a user. @throws AppError 404 */
export async function setOrganizationTier(
  { store, clock }: HasStore & HasClock,
  id: string,
  tier: Tier,
): Promise<void> {
  await store.write(async (tx) => {
    const all = await allOrganizations(tx, id);
    if (all.length === 0) throw notFound('Organization');
    await lockCustomer(tx, id);
    await updateTier(tx, id, tier);
    await pauseWebhooksAbove(tx, id, TIERS[tier].webhooks, clock());
  });
}
