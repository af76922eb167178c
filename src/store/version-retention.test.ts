import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { type Home, settle, withStore } from '../../test/support/store/fixtures.ts';
import { query } from '../../test/support/store/rows.ts';
import { vacuumKeys } from './destroyed-keys.ts';
import { renewEpoch } from './service-facts.ts';
import type { Store, Tx } from './store.ts';
import { pruneVersions } from './version-retention.ts';
import { addVersions, endHistory, insertHistory, type KeptVersion } from './versions.ts';

const { signal } = new AbortController();

function rowOf(history_id: number, i: number): KeptVersion {
  return {
    history_id,
    key: `k${i}.doc.acme.v1`,
    version: 1,
    cause: 'write',
    valid_from: 1,
    valid_to: 2,
    write_seq: i,
    write_rows: 1,
    content_type: 'text/plain',
    ttl_seconds: 1,
    expires_at: null,
    octets: 1,
    data: Buffer.of(1),
    encoding: null,
    created_at: null,
    record_id: null,
  };
}

async function begin(
  store: Store,
  { namespaceId, customerId }: Home,
  id: number,
  rows: number,
): Promise<void> {
  await store.write(async (tx) => {
    const history = { id, namespace_id: namespaceId, customer_id: customerId, whole_since: 1 };
    await insertHistory(tx, history, Buffer.of(7));
    const versions = Array.from({ length: rows }, (_, i) => rowOf(id, i));
    await addVersions(tx, id, versions, new Map());
  });
}

const count = async (store: Store, table: string): Promise<number> =>
  Number((await query<{ n: number }>(store.read, `select count(*) as n from ${table}`))[0]?.n);

/** A store in which something happens between the first unit and the next. */
function meanwhile(store: Store, happens: (tx: Tx) => Promise<unknown>): Store {
  let units = 0;
  return {
    ...store,
    async write(work) {
      if (units++ === 1) await store.write(happens);
      return store.write(work);
    },
  };
}

onEachEngine((create) => {
  describe('a lowered number of versions', () => {
    const KEYS = 150;
    /** Of the first unit. */
    const DONE = 100;
    async function lowered(store: Store): Promise<void> {
      const home = await settle(store);
      await begin(store, home, 1, 0);
      await store.write(async (tx) => {
        const rows = [1, 2].flatMap((version) =>
          Array.from({ length: KEYS }, (_, i) => ({ ...rowOf(1, i), version, valid_from: version })),
        );
        await addVersions(tx, 1, rows, new Map());
        await query(tx, 'update histories set trim = 1');
        await query(tx, 'update namespaces set history_id = 1, history_versions = 1, history_days = 9');
      });
    }

    it('is no more worked on by what was before: the owner, or a failover, has changed it (failover)', () =>
      withStore(create, async (store) => {
        await lowered(store);
        const back = (tx: Tx) => query(tx, 'update namespaces set history_versions = 2');
        await pruneVersions(meanwhile(store, back), 3, signal);
        assert.equal(await count(store, 'record_versions'), 2 * KEYS - DONE);
      }));

    it('begins anew in a log with another epoch: what was done may be lost (failover)', () =>
      withStore(create, async (store) => {
        await lowered(store);
        await pruneVersions(
          meanwhile(store, (tx) => renewEpoch(tx, 5)),
          3,
          signal,
        );
        assert.equal(await count(store, 'record_versions'), 2 * KEYS - DONE);
        assert.deepEqual(await query(store.read, 'select trim from histories'), [{ trim: 1 }]);
        await pruneVersions(store, 3, signal);
        assert.equal(await count(store, 'record_versions'), KEYS);
      }));
  });

  describe('a table of destroyed keys', () => {
    it('counts as rewritten only in the database in which it was (failover)', () =>
      withStore(create, async (store) => {
        const home = await settle(store);
        await begin(store, home, 1, 1);
        await store.write((tx) => endHistory(tx, 1));
        const ended = () => query<{ ended: number }>(store.read, 'select ended from histories');
        await store.write((tx) => tx.execute('update histories set ended = 1', []));
        await vacuumKeys(store, () => store.write((tx) => renewEpoch(tx, 5)));
        assert.deepEqual(await ended(), [{ ended: 1 }]);
        await vacuumKeys(store, async () => {});
        assert.deepEqual(await ended(), [{ ended: 2 }]);
      }));
  });

  describe('the end of a history', () => {
    it('destroys its key at once; the rows follow in rounds of bounded work', () =>
      withStore(create, async (store) => {
        const home = await settle(store);
        await begin(store, home, 1, 10_250);
        await begin(store, home, 2, 1);
        await store.write((tx) => endHistory(tx, 1));
        assert.deepEqual(await query(store.read, 'select history_id from history_keys'), [{ history_id: 2 }]);
        await store.scrub();
        assert.equal(await pruneVersions(store, 3, signal), true);
        assert.equal(await count(store, 'record_versions'), 251);
        assert.equal(await pruneVersions(store, 3, signal), false);
        assert.deepEqual(await query(store.read, 'select id, versions from histories'), [
          { id: 2, versions: 1 },
        ]);
        assert.equal(await count(store, 'record_versions'), 1);
      }));

    it('takes no unit while nothing is due: one that does nothing wakes the loops that wait for commits', () =>
      withStore(create, async (store) => {
        await begin(store, await settle(store), 1, 1);
        let units = 0;
        const counted: Pick<Store, 'read' | 'write'> = {
          read: store.read,
          write: (unit) => {
            units++;
            return store.write(unit);
          },
        };
        assert.equal(await pruneVersions(counted, 3, signal), false);
        assert.equal(units, 0);
      }));

    it('on PostgreSQL rewrites the table of keys before it forgets the history', () =>
      withStore(create, async (store) => {
        if (store.engine !== 'postgres') return;
        const home = await settle(store);
        await begin(store, home, 1, 1);
        const file = () => query(store.read, "select pg_relation_filenode('history_keys') as file");
        const before = await file();
        await store.scrub();
        assert.deepEqual(await file(), before);
        await store.write((tx) => endHistory(tx, 1));
        await pruneVersions(store, 3, signal);
        assert.equal(await count(store, 'histories'), 1);
        await store.scrub();
        assert.notDeepEqual(await file(), before);
        await pruneVersions(store, 3, signal);
        assert.equal(await count(store, 'histories'), 0);
      }));
  });
});
