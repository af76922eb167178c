import { notFound } from '../../base/errors.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import {
  listNamespacesWithOwners,
  type NamespaceFlags,
  setNamespaceFlags,
} from '../../store/tables/namespaces.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import { type NamespaceResource, namespaceChange, namespaceResource } from './namespaces.ts';

/** There is no actor: the operator is not a customer. */
type OperatorDeps = HasStore & HasClock;

/** @param on readable without a token. @throws AppError 404 */
export function setPublicRead(deps: OperatorDeps, name: string, on: boolean): Promise<NamespaceResource> {
  return setFlags(deps, name, { public_read: on ? 1 : 0 });
}

/** @param on removed from DNS answers. @throws AppError 404 */
export function setSuspended(deps: OperatorDeps, name: string, on: boolean): Promise<NamespaceResource> {
  return setFlags(deps, name, { suspended: on ? 1 : 0 });
}

export interface NamespaceListing extends Omit<NamespaceResource, 'public_read' | 'suspended'> {
  /** Mail address of its customer. */
  readonly owner: string;
  readonly public_read: boolean;
  readonly suspended: boolean;
}

/** Namespaces of all customers, by name. */
export async function listAllNamespaces({ store }: HasStore): Promise<NamespaceListing[]> {
  const rows = await listNamespacesWithOwners(store.read);
  return rows.map((row) => ({
    ...namespaceResource(row),
    owner: row.email,
    public_read: row.public_read === 1,
    suspended: row.suspended === 1,
  }));
}

function setFlags(
  { store, clock }: OperatorDeps,
  name: string,
  flags: NamespaceFlags,
): Promise<NamespaceResource> {
  const now = clock();
  return store.write(async (tx) => {
    const row = await setNamespaceFlags(tx, foldCase(name), flags, now);
    if (row === null) throw notFound('Namespace');
    await appendChanges(tx, [namespaceChange(row)], now);
    return namespaceResource(row);
  });
}
