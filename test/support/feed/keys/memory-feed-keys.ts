import type { FeedKeyStore, StoredKey } from '../../../../src/feed/ports/feed-store.ts';

export interface MemoryFeedKeys extends FeedKeyStore {
  /** Every call rejects. */
  isAway: boolean;
}

/** Hourly keys in memory, shared by all services that get it. */
export function createMemoryFeedKeys(): MemoryFeedKeys {
  const rows = new Map<number, Uint8Array>();
  function reach(): void {
    if (store.isAway) throw new Error('the store is away');
  }
  const store: MemoryFeedKeys = {
    isAway: false,
    async read() {
      reach();
      return [...rows]
        .map(([period, secret]): StoredKey => ({ period, secret: Uint8Array.from(secret) }))
        .toSorted((a, b) => a.period - b.period);
    },
    async add({ period, secret }) {
      reach();
      if (!rows.has(period)) rows.set(period, secret);
    },
    async keep(first, last) {
      reach();
      for (const period of rows.keys()) if (period < first || period > last) rows.delete(period);
    },
    async replaceAll({ period, secret }) {
      reach();
      rows.clear();
      rows.set(period, secret);
    },
  };
  return store;
}
