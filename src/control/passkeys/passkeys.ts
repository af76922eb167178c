import { notFound } from '../../base/errors.ts';
import { formatTime, formatTimeOrNull } from '../../base/text/time.ts';
import { resourceSchema, TIME, TIME_OR_NULL, UUID } from '../../protocol/input/schema.ts';
import { deletePasskey, listPasskeys, type PasskeyRow } from '../../store/tables/passkeys.ts';
import { type Actor, requireSession } from '../accounts/actor.ts';
import type { HasStore } from '../accounts/deps.ts';

export interface PasskeyResource {
  readonly id: string;
  readonly name: string;
  /** Whether a copy exists outside the authenticator, as its last answer said. */
  readonly backed_up: boolean;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

export const PASSKEY_SCHEMA = resourceSchema<PasskeyResource>('Passkey', {
  id: UUID,
  name: { type: 'string', examples: ['laptop'] },
  backed_up: { type: 'boolean', description: 'Whether a copy exists, as its authenticator said last' },
  last_used_at: { ...TIME_OR_NULL, description: 'Time of the last sign-in' },
  created_at: TIME,
});

export function passkeyResource(row: PasskeyRow): PasskeyResource {
  return {
    id: row.id,
    name: row.name,
    backed_up: row.backed_up === 1,
    last_used_at: formatTimeOrNull(row.last_used_at),
    created_at: formatTime(row.created_at),
  };
}

/** The signed-in person. @throws AppError 403 for an API key */
export function userIdOf(actor: Actor): string {
  requireSession(actor);
  return actor.userId;
}

/** Oldest first. @throws AppError 403 for an API key */
export async function listOwnPasskeys({ store }: HasStore, actor: Actor): Promise<PasskeyResource[]> {
  return (await listPasskeys(store.read, userIdOf(actor))).map(passkeyResource);
}

/** Any passkey may be removed: a code by mail is always a way in. @throws AppError 403 for an API key, 404 */
export async function deleteOwnPasskey({ store }: HasStore, actor: Actor, id: string): Promise<void> {
  const userId = userIdOf(actor);
  if (!(await store.write((tx) => deletePasskey(tx, id, userId)))) throw notFound('Passkey');
}
