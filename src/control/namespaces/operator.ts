import { notFound } from '../../core/errors.ts';
import { foldCase } from '../../core/labels.ts';
import type { Deps } from '../accounts/deps.ts';
import { appendChanges } from '../store/change-log.ts';
import { type NamespaceFlags, setNamespaceFlags } from '../store/namespaces.ts';
import { type NamespaceResource, namespaceChange, namespaceResource } from './namespaces.ts';

/** What the operator needs to set a flag; there is no actor, for the operator is not a customer. */
type OperatorDeps = Pick<Deps, 'store' | 'clock'>;

/** Makes a namespace readable without a token, or private again. @throws AppError 404 */
export function setPublicRead(deps: OperatorDeps, name: string, on: boolean): Promise<NamespaceResource> {
  return setFlags(deps, name, { public_read: on ? 1 : 0 });
}

/** Takes a namespace out of DNS answers, or brings it back. @throws AppError 404 */
export function setSuspended(deps: OperatorDeps, name: string, on: boolean): Promise<NamespaceResource> {
  return setFlags(deps, name, { suspended: on ? 1 : 0 });
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
