import type { Tier } from '../../base/tiers.ts';
import type { Db } from '../store.ts';

/** The customer who owns the namespace of this name; null when there is no such namespace. */
export async function findOwner(db: Db, namespace: string): Promise<{ id: string; tier: Tier } | null> {
  const row = await db
    .selectFrom('namespaces as n')
    .innerJoin('customers as c', 'c.id', 'n.customer_id')
    .select(['c.id', 'c.tier'])
    .where('n.name', '=', namespace)
    .where('n.closing', '=', 0)
    .executeTakeFirst();
  return row ?? null;
}
