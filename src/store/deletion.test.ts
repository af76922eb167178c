import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changesAfter } from '../../test/support/feed/changes-after.ts';
import { fillNamespace, testActor, testDeps } from '../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { putRecord, settle, withStore } from '../../test/support/store/fixtures.ts';
import { findRows, oneRow } from '../../test/support/store/rows.ts';
import {
  CLOSING_UNIT,
  DELETION_UNIT,
  deleteClosed,
  deleteNamespace,
  deleteSome,
  startDeletions,
} from '../control/namespaces/deletion.ts';
import { createNamespace, listOwnNamespaces, setSuspended } from '../control/namespaces/rules.ts';
import { createRecord, getRecord } from '../control/records/rules.ts';
import { lockClosing } from './namespaces.ts';
import type { Store } from './store.ts';

/** More than the closing unit deletes, and more than two of the later ones. */
const MANY = CLOSING_UNIT + 100;

/** A namespace is closed at once and deleted in units of bounded size (finding R4). */
onEachEngine((create) => {
  const scenario = (
    title: string,
    run: (store: Store, open: () => Promise<Store>) => Promise<void>,
  ): void => {
    it(title, () => withStore(create, run));
  };
  const { signal } = new AbortController();
  const types = async (store: Store, after: number): Promise<string[]> =>
    (await changesAfter(store.changes, after, 10_000)).map((change) => change.type);

  describe('deletion of a namespace', () => {
    scenario(
      'a view that is built while it is being deleted does not open it: it is suspended there (C05)',
      async (store) => {
        const home = await settle(store);
        await fillNamespace(store, home, MANY);
        await deleteNamespace(testDeps(store), testActor(home), home.namespaceId);
        const { pages } = await store.changes.openSnapshot();
        const spaces = [];
        for await (const page of pages) {
          spaces.push(...page.filter((change) => change.type === 'namespace.upserted'));
        }
        assert.deepEqual(
          spaces.map(({ namespace, suspended }) => [namespace, suspended]),
          [['acme', true]],
        );
      },
    );

    scenario(
      'a large one is closed in one small unit, and its name stays taken until its end',
      async (store) => {
        const home = await settle(store);
        await fillNamespace(store, home, MANY);
        const deps = testDeps(store);
        const actor = testActor(home);
        const held = () => store.write((tx) => lockClosing(tx, home.namespaceId));
        assert.equal(await held(), null, 'an open one is not deleted, whoever asks');
        const { head } = await store.changes.bounds();
        const { promise: woken, resolve } = Promise.withResolvers<void>();
        const stopWork = store.onWork('deletions', resolve);
        const { id: recordId } = await oneRow(store.read, 'records', { columns: ['id'] });
        await deleteNamespace(deps, actor, home.namespaceId);
        await woken;
        stopWork();
        assert.notEqual(await held(), null);
        assert.deepEqual(await types(store, head), ['namespace.closing']);
        assert.deepEqual(await listOwnNamespaces(deps, actor), []);
        await assert.rejects(getRecord(deps, actor, recordId), /Record not found/);
        await assert.rejects(deleteNamespace(deps, actor, home.namespaceId), /Namespace not found/);
        await assert.rejects(setSuspended(deps, 'acme', false), /Namespace not found/);
        const record = { key: 'x.doc.acme.v1', data: 'YQ==' };
        await assert.rejects(createRecord(deps, actor, record), /namespace/);
        const again = { name: 'acme' };
        await assert.rejects(createNamespace(deps, actor, again), /taken/);
        const customer = await oneRow(store.read, 'customers');
        assert.equal(customer.records_count, 0);

        await deleteClosed({ store, clock: () => 1, signal });
        const told = await types(store, head + 1);
        assert.deepEqual(told, [...Array<string>(MANY).fill('record.deleted'), 'namespace.deleted']);
        const changes = await changesAfter(store.changes, head + 1, 10_000);
        assert.equal(new Set(changes.map((change) => ('key' in change ? change.key : ''))).size, MANY + 1);
        assert.deepEqual(await findRows(store.read, 'records', { columns: ['id'] }), []);
        assert.equal((await createNamespace(deps, actor, again)).name, 'acme');
      },
    );

    scenario('one that cannot be deleted stops no other', async (store) => {
      const homes = [await settle(store), await settle(store, 'other')];
      const deps = testDeps(store);
      for (const home of homes) {
        await fillNamespace(store, home, MANY);
        await deleteNamespace(deps, testActor(home), home.namespaceId);
      }
      const left = async (): Promise<number> =>
        (await findRows(store.read, 'namespaces', { columns: ['id'] })).length;
      let units = 0;
      const failing: Pick<Store, 'read' | 'write'> = {
        read: store.read,
        write: (unit) => (units++ === 0 ? Promise.reject(new Error('no such disk')) : store.write(unit)),
      };
      await assert.rejects(
        deleteClosed({ store: { ...store, ...failing }, clock: () => 1, signal }),
        /no such disk/,
      );
      assert.equal(await left(), 1);
      await deleteClosed({ store, clock: () => 1, signal });
      assert.equal(await left(), 0);
    });

    scenario('a small one is gone when the request is answered', async (store) => {
      const home = await settle(store);
      for (const name of ['a', 'b']) await store.write((tx) => putRecord(tx, home, name));
      const deps = testDeps(store);
      await deleteNamespace(deps, testActor(home), home.namespaceId);
      const told = await types(store, 2);
      assert.deepEqual(told, ['namespace.closing', 'record.deleted', 'record.deleted', 'namespace.deleted']);
      await createNamespace(deps, testActor(home), { name: 'acme' });
    });

    scenario('a unit deletes at most 250 rows, and tells of them', async (store) => {
      const home = await settle(store);
      await fillNamespace(store, home, MANY);
      await deleteNamespace(testDeps(store), testActor(home), home.namespaceId);
      const steps: number[] = [];
      for (let done = false; !done; ) {
        const { head } = await store.changes.bounds();
        done = await store.write((tx) => deleteSome(tx, home.namespaceId, 1));
        steps.push((await types(store, head)).length);
      }
      assert.deepEqual(steps, [DELETION_UNIT, DELETION_UNIT, 101]);
    });

    scenario('a deletion that a process left behind is finished by the next one', async (store, open) => {
      const home = await settle(store);
      await fillNamespace(store, home, MANY);
      await deleteNamespace(testDeps(store), testActor(home), home.namespaceId);
      await store.write((tx) => deleteSome(tx, home.namespaceId, 1));
      await store.close();
      const next = await open();
      const ending = new AbortController();
      const { promise: gone, resolve } = Promise.withResolvers<void>();
      const look = async (): Promise<void> => {
        const left = await findRows(next.read, 'namespaces', { columns: ['id'] });
        if (left.length === 0) resolve();
      };
      const stop = next.changes.onChange(() => void look());
      const faults: unknown[] = [];
      const options = { store: next, clock: () => 1, signal: ending.signal };
      const stopped = startDeletions({ ...options, onError: (error) => faults.push(error) });
      await gone;
      stop();
      ending.abort();
      await stopped;
      assert.deepEqual(faults, []);
      const told = await types(next, 0);
      assert.equal(told.filter((type) => type === 'record.deleted').length, MANY);
      assert.deepEqual(told.slice(-1), ['namespace.deleted']);
      assert.equal(told.filter((type) => type === 'namespace.deleted').length, 1);
    });

    scenario('a suspended one is not deleted by its owner', async (store) => {
      const home = await settle(store);
      const deps = testDeps(store);
      await setSuspended(deps, 'acme', true);
      const deletion = deleteNamespace(deps, testActor(home), home.namespaceId);
      await assert.rejects(deletion, /Namespace is suspended/);
    });
  });
});
