import { findLiveApiKey, touchApiKey } from '../../store/tables/api-keys.ts';
import type { Actor, ApiOperation } from '../accounts/actor.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import { lastUses } from '../accounts/last-use.ts';
import { apiKeyDigest } from './api-keys.ts';

const BOTH: readonly ApiOperation[] = ['read', 'write'];

export interface ApiKeys {
  /** Null: unknown, revoked or expired. Reads the database on every call. */
  authenticate(token: string): Promise<Actor | null>;
  /** Waits for updates of `last_used_at` under way. */
  settle(): Promise<void>;
}

/** @param onError called when an update of `last_used_at` failed; the request does not wait for it */
export function openApiKeys(
  { store, clock }: HasStore & HasClock,
  onError: (error: unknown) => void,
): ApiKeys {
  const uses = lastUses(
    clock,
    (id, now, before) => store.write((tx) => touchApiKey(tx, id, now, before)),
    onError,
  );
  return {
    async authenticate(token) {
      const key = await findLiveApiKey(store.read, apiKeyDigest(token), clock());
      if (key === null) return null;
      uses.note(key.id, key.last_used_at);
      const operations: readonly ApiOperation[] = JSON.parse(key.operations);
      const namespaces: readonly string[] = JSON.parse(key.namespaces);
      return {
        customerId: key.customer_id,
        personId: key.person_id,
        userId: null,
        sessionId: null,
        role: null,
        tier: key.tier,
        via: 'api_key',
        operations: new Set(operations.length === 0 ? BOTH : operations),
        namespaces: namespaces.length === 0 ? null : new Set(namespaces),
      };
    },
    settle: () => uses.settle(),
  };
}
