import { setImmediate as turn } from 'node:timers/promises';
import { notFound } from '../../core/errors.ts';
import type { Actor } from '../accounts/actor.ts';
import type { Deps } from '../accounts/deps.ts';
import { appendChanges, eraseNamespace, type NewChange } from '../store/change-log.ts';
import { deleteNamespaceRow, lockNamespace, type NamespaceRow } from '../store/namespaces.ts';
import { liveQueryTokens } from '../store/query-tokens.ts';
import { deleteSomeOfNamespace } from '../store/records.ts';
import type { Tx } from '../store/store.ts';
import { addToRecordsCount, lockUser } from '../store/users.ts';
import { ownNamespace } from './namespaces.ts';

/** Records deleted at a time: however many there are, only this many keys are held. */
const BATCH = 500;

/**
 * Deletes a namespace with its records and query tokens, in one unit of work. The log tells of each record and of each
 * token that still opened the namespace, then of the namespace; its payloads leave the log.
 *
 * @throws AppError 404, or 403 outside the key's allowlist
 */
export async function deleteNamespace(deps: Deps, actor: Actor, id: string): Promise<void> {
  await ownNamespace(deps, actor, id);
  const now = deps.clock();
  await deps.store.write(async (tx) => {
    await lockUser(tx, actor.customerId);
    const namespace = await lockNamespace(tx, id, actor.customerId);
    if (namespace === null) throw notFound('Namespace');
    await eraseNamespace(tx, namespace.name);
    const deleted = await deleteRecordsOf(tx, namespace, now);
    await addToRecordsCount(tx, actor.customerId, -deleted, 0);
    const tokens = await liveQueryTokens(tx, id, now);
    // Its tokens go with the row.
    await deleteNamespaceRow(tx, id);
    const fixed = { owner: namespace.user_id, namespace: namespace.name } as const;
    const changes: NewChange[] = tokens.map(({ digest }) => ({
      ...fixed,
      type: 'token.revoked',
      cause: 'cascade',
      digest,
    }));
    changes.push({ ...fixed, type: 'namespace.deleted', cause: 'direct', id });
    await appendChanges(tx, changes, now);
  });
}

/** @returns how many there were */
async function deleteRecordsOf(tx: Tx, { id, name, user_id }: NamespaceRow, now: number): Promise<number> {
  let deleted = 0;
  for (;;) {
    const keys = await deleteSomeOfNamespace(tx, id, BATCH);
    const changes = keys.map(
      (key): NewChange => ({
        type: 'record.deleted',
        owner: user_id,
        cause: 'cascade',
        key,
        namespace: name,
      }),
    );
    if (changes.length > 0) await appendChanges(tx, changes, now);
    deleted += keys.length;
    if (keys.length < BATCH) return deleted;
    // The embedded engine's statements are synchronous: without this, nothing else would run until the last batch.
    await turn();
  }
}
