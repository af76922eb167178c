import { describe, it } from 'node:test';
import { type TestDatabase, withStore } from '../fixtures.ts';

/** Whether the database is there. */
export function pingConformance(create: () => Promise<TestDatabase>): void {
  describe('ping', () => {
    it('succeeds while the database is there, also several at once', () =>
      withStore(create, async (store) => {
        await store.ping();
        await Promise.all([store.ping(), store.ping()]);
      }));
  });
}
