import type { Actor, ApiOperation } from '../accounts/actor.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import { findLiveApiKey, touchApiKey } from '../store/tables/api-keys.ts';
import { apiKeyDigest } from './api-keys.ts';

const BOTH: readonly ApiOperation[] = ['read', 'write'];

/** Milliseconds between two updates of `last_used_at`. */
const TOUCH_EVERY = 60_000;

/** Keys whose last use is in memory. Above it all are deleted, and read again from the database. */
const TOUCHED_MAX = 10_000;

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
  const touched = new Map<string, number>();
  const writing = new Set<Promise<void>>();

  const touch = (id: string, lastUsedAt: number | null): void => {
    const now = clock();
    const last = Math.max(lastUsedAt ?? -Infinity, touched.get(id) ?? -Infinity);
    if (now - last < TOUCH_EVERY) return;
    if (touched.size >= TOUCHED_MAX) touched.clear();
    touched.set(id, now);
    const note: Promise<void> = store
      .write((tx) => touchApiKey(tx, id, now, now - TOUCH_EVERY))
      .catch(onError)
      .finally(() => writing.delete(note));
    writing.add(note);
  };

  return {
    async authenticate(token) {
      const key = await findLiveApiKey(store.read, apiKeyDigest(token), clock());
      if (key === null) return null;
      touch(key.id, key.last_used_at);
      const operations: readonly ApiOperation[] = JSON.parse(key.operations);
      const namespaces: readonly string[] = JSON.parse(key.namespaces);
      return {
        customerId: key.user_id,
        tier: key.tier,
        via: 'api_key',
        operations: new Set(operations.length === 0 ? BOTH : operations),
        namespaces: namespaces.length === 0 ? null : new Set(namespaces),
      };
    },
    async settle() {
      await Promise.all(writing);
    },
  };
}
