import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, it } from 'node:test';
import { changesAfter } from '../../../test/support/feed/changes-after.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { putRecord, settle, withStore } from '../../../test/support/store/fixtures.ts';
import type { Change } from '../../protocol/change.ts';
import type { Store } from '../store.ts';
import { advanceCursor } from '../webhooks/fan-out.ts';
import { appendChanges, type NewChange, pruneLog } from './change-log.ts';

/** One of each type, as it goes in and has to come out. */
const EVERY_TYPE: readonly NewChange[] = [
  {
    type: 'namespace.upserted',
    owner: null,
    cause: 'direct',
    namespace: 'acme',
    id: '7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d',
    publicRead: true,
    suspended: false,
    recordsCount: 3,
    createdAt: 1_763_600_000_000,
    updatedAt: 1_763_600_000_001,
  },
  {
    type: 'record.upserted',
    owner: 'customer',
    cause: 'direct',
    key: 'a.doc.acme.v1',
    namespace: 'acme',
    resource: 'doc',
    version: 'v1',
    data: 'AP8Q/+4=',
    contentType: 'text/plain; charset="ü"',
    ttlSeconds: 0,
    expiresAt: 253_402_300_799_999,
  },
  {
    type: 'token.minted',
    owner: 'customer',
    cause: 'direct',
    namespace: 'acme',
    digest: 'ab'.repeat(32),
    expiresAt: 9,
  },
  { type: 'token.revoked', owner: 'customer', cause: 'cascade', namespace: 'acme', digest: 'ab'.repeat(32) },
  { type: 'record.deleted', owner: 'customer', cause: 'expiry', key: 'a.doc.acme.v1', namespace: 'acme' },
  { type: 'namespace.deleted', owner: 'customer', cause: 'direct', namespace: 'acme', id: 'n' },
  {
    type: 'dataset.withdrawn',
    owner: null,
    cause: 'direct',
    namespace: 'public',
    versionId: '7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3e',
  },
];

/** The change log: numbers, order, reading on, pruning, waking. */
onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('change log', () => {
    scenario('every type of Change comes out as it went in', async (store) => {
      const last = await store.write((tx) => appendChanges(tx, EVERY_TYPE, 42));
      assert.equal(last, EVERY_TYPE.length);
      const expected = EVERY_TYPE.map((change, index) => ({ seq: index + 1, at: 42, ...change }));
      assert.deepEqual(await changesAfter(store.changes, 0, 100), expected);
    });

    scenario(
      'a store that is told of commits reads what the database has, whichever process wrote it',
      async (store, open) => {
        const other = await open();
        const stop = store.changes.onChange(() => {});
        const write = (by: Store) => by.write((tx) => appendChanges(tx, EVERY_TYPE, 42));
        let read = 0;
        for (const writers of [[store], [store, store], [other], [store, other], [other, store], [store]]) {
          for (const by of writers) await write(by);
          const expected = await changesAfter(other.changes, read, 100);
          assert.equal(expected.length, writers.length * EVERY_TYPE.length);
          // The two stores need not agree before one has heard of the other.
          const found: Change[] = [];
          for (let more = await changesAfter(store.changes, read, 5); more.length > 0; ) {
            found.push(...more);
            more = await changesAfter(store.changes, found.at(-1)!.seq, 5);
          }
          assert.deepEqual(found, expected);
          read = found.at(-1)!.seq;
        }
        stop();
      },
    );

    scenario('a large unit is numbered without a gap', async (store) => {
      const many = Array.from({ length: 1_001 }, (_, index) => ({
        type: 'record.deleted' as const,
        owner: null,
        cause: 'cascade' as const,
        key: `a.doc.n${index}.v1`,
        namespace: `n${index}`,
      }));
      assert.equal(await store.write((tx) => appendChanges(tx, many, 1)), 1_001);
      const read = await changesAfter(store.changes, 0, 2_000);
      assert.deepEqual(
        read.map((change) => change.namespace),
        many.map((change) => change.namespace),
      );
    });

    scenario('nothing to append moves nothing', async (store) => {
      assert.equal(await store.write((tx) => appendChanges(tx, [], 1)), 0);
      assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 1, head: 0 });
    });

    scenario('a follower sees each seq once, in order, while fifty write', async (store) => {
      const home = await settle(store);
      const seen: number[] = [];
      let busy = true;
      const follow = async (): Promise<void> => {
        for (;;) {
          const last = !busy;
          const batch = await changesAfter(store.changes, seen.at(-1) ?? 0, 7);
          for (const change of batch) seen.push(change.seq);
          if (last && batch.length === 0) return;
        }
      };
      const following = follow();
      const units = Array.from({ length: 50 }, (_, index) =>
        store.write(async (tx) => {
          await putRecord(tx, home, `k${index}`);
          if (index % 5 === 0) throw new Error('taken back');
        }),
      );
      await Promise.allSettled(units);
      busy = false;
      await following;
      assert.deepEqual(
        seen,
        Array.from({ length: 40 }, (_, index) => index + 1),
      );
    });

    scenario('since reads on after a cursor, up to a limit', async (store) => {
      await store.write((tx) => appendChanges(tx, EVERY_TYPE, 1));
      const seqs = async (seq: number, limit: number): Promise<number[]> =>
        (await changesAfter(store.changes, seq, limit)).map((change) => change.seq);
      assert.deepEqual(await seqs(0, 2), [1, 2]);
      assert.deepEqual(await seqs(2, 100), [3, 4, 5, 6, 7]);
      assert.deepEqual(await seqs(7, 100), []);
      assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 1, head: 7 });
    });

    scenario('pruning drops the oldest part only, whatever the clocks said', async (store) => {
      for (const at of [10, 20, 50, 30, 60]) {
        await store.write((tx) => appendChanges(tx, EVERY_TYPE.slice(0, 1), at));
      }
      await store.write((tx) => advanceCursor(tx, 5));
      const prune = (beforeAt: number, limit: number): Promise<number> =>
        store.write((tx) => pruneLog(tx, beforeAt, limit));
      assert.equal(await prune(10, 100), 0);
      assert.equal(await prune(40, 1), 1);
      assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 2, head: 5 });
      assert.equal(await prune(40, 100), 1);
      assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 3, head: 5 });
      assert.equal(await prune(40, 100), 0);
      assert.equal(await prune(61, 100), 3);
      assert.partialDeepStrictEqual(await store.changes.bounds(), { oldest: 6, head: 5 });
      assert.equal(await prune(61, 100), 0);
      assert.equal(await store.write((tx) => appendChanges(tx, EVERY_TYPE.slice(0, 1), 70)), 6);
    });

    scenario('a commit wakes listeners until they stop, and a bad one harms nobody', async (store) => {
      let bad = 0;
      let good = 0;
      store.changes.onChange(() => {
        bad++;
        throw new Error('listener');
      });
      const stop = store.changes.onChange(() => good++);
      await store.write((tx) => appendChanges(tx, EVERY_TYPE, 1));
      assert.ok(bad >= 1 && good >= 1);
      stop();
      const before = good;
      await store.write((tx) => appendChanges(tx, EVERY_TYPE, 1));
      assert.equal(good, before);
    });

    scenario('a commit of another store on the same database wakes', async (store, open) => {
      const other = await open();
      const events = new EventEmitter();
      const stop = other.changes.onChange(() => events.emit('commit'));
      for (let head = 0; head === 0; ) {
        const woken = once(events, 'commit');
        await store.write((tx) => appendChanges(tx, EVERY_TYPE, 1));
        await woken;
        head = (await other.changes.bounds()).head;
      }
      stop();
    });
  });
});
