import type { QueryTokenResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { type Resource, useResource } from '../../data/resource.ts';

/** Query tokens of a namespace, oldest first. @param namespaceId null: reads nothing yet */
export function useTokens(namespaceId: string | null): Resource<readonly QueryTokenResource[]> {
  const key = namespaceId === null ? null : `tokens ${namespaceId}`;
  return useResource(key, (signal) => api.queryTokens.list(namespaceId ?? '', { signal }), {
    freshMs: 10_000,
  });
}

export type TokenState = 'live' | 'ended' | 'revoked';

/** @param now milliseconds since the epoch */
export function stateOf(token: QueryTokenResource, now: number): TokenState {
  if (token.revoked_at !== null) return 'revoked';
  return Date.parse(token.expires_at) <= now ? 'ended' : 'live';
}
