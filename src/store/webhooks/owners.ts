import type { Tier } from '../../base/tiers.ts';
import { statement } from '../engine/statement.ts';
import type { Db } from '../store.ts';

interface Owner {
  readonly id: string;
  readonly tier: Tier;
}

const FIND = statement<{ namespace: string }, Owner>(
  `select c.id, c.tier from namespaces as n join customers as c on c.id = n.customer_id
  where n.name = :namespace and n.closing = 0`,
);

/** The customer who owns the namespace of this name; null when there is no such namespace. */
export function findOwner(db: Db, namespace: string): Promise<Owner | null> {
  return FIND.first(db, { namespace });
}
