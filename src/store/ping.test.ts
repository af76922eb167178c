import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { withStore } from '../../test/support/store/fixtures.ts';

/** Whether the database is there. */
onEachEngine((create) => {
  describe('ping', () => {
    it('succeeds while the database is there, also several at once', () =>
      withStore(create, async (store) => {
        await store.ping();
        await Promise.all([store.ping(), store.ping()]);
      }));
  });
});
