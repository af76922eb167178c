import { notFound } from '../../base/errors.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import type { CustomersTable } from '../../store/schema.ts';
import { findUserByEmail } from '../../store/tables/users.ts';
import { findOwner } from '../../store/webhooks/owners.ts';
import type { Actor } from '../accounts/actor.ts';
import type { HasStore } from '../accounts/deps.ts';

/** For work of the operator in the owner's name. @throws AppError 404 */
export async function ownerActor({ store }: HasStore, namespace: string): Promise<Actor> {
  const owner = await findOwner(store.read, foldCase(namespace));
  if (owner === null) throw notFound('Namespace');
  return actorFor(owner);
}

/** Null when no account has this mail address. */
export async function customerActor({ store }: HasStore, email: string): Promise<Actor | null> {
  const user = await findUserByEmail(store.read, foldCase(email.trim()));
  return user === null ? null : actorFor(user);
}

function actorFor({ id, tier }: Pick<CustomersTable, 'id' | 'tier'>): Actor {
  return {
    customerId: id,
    personId: id,
    userId: null,
    sessionId: null,
    role: null,
    tier,
    via: 'session',
    operations: new Set(['read', 'write']),
    namespaces: null,
  };
}
