import { notFound } from '../../core/errors.ts';
import { foldCase } from '../../core/names/labels.ts';
import type { Actor } from '../accounts/actor.ts';
import type { Deps } from '../accounts/deps.ts';
import { findOwner } from '../store/webhooks/owners.ts';

/** The owner of a namespace as an actor, for what the operator does in its name. @throws AppError 404 */
export async function ownerActor({ store }: Pick<Deps, 'store'>, namespace: string): Promise<Actor> {
  const owner = await findOwner(store.read, foldCase(namespace));
  if (owner === null) throw notFound('Namespace');
  return {
    customerId: owner.id,
    tier: owner.tier,
    via: 'session',
    operations: new Set(['read', 'write']),
    namespaces: null,
  };
}
