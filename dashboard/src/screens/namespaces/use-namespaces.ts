import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { type Resource, useResource } from '../../data/resource.ts';

/** The namespaces of the user, by name. */
export function useNamespaces(): Resource<readonly NamespaceResource[]> {
  return useResource('namespaces', (signal) => api.namespaces.list({ signal }));
}
