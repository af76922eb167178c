import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changesAfter } from '../../../test/support/feed/changes-after.ts';
import { testActor, testDeps } from '../../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { type Home, putRecord, settle, upsert, withStore } from '../../../test/support/store/fixtures.ts';
import { findRows, oneRow, updateRows } from '../../../test/support/store/rows.ts';
import { plansOf } from '../../../test/support/store/statement-plans.ts';
import { createMemoryView, payloadText } from '../../../test/support/view/memory-view.ts';
import { namespaceUpserted } from '../../../test/support/view/view-changes.ts';
import { deleteClosed, deleteNamespace } from '../../control/namespaces/deletion.ts';
import { patchRecord } from '../../control/records/rules.ts';
import { deleteRecords } from '../records.ts';
import type { Store, Tx } from '../store.ts';
import { advanceCursor } from '../webhooks/fan-out.ts';
import { appendChanges, eraseSuperseded, isErasureDue, type NewChange } from './change-log.ts';

/** Payloads leave the log once a later change of their record was told of, and not before. */
onEachEngine((create) => {
  const scenario = (title: string, run: (store: Store) => Promise<void>): void => {
    it(title, () => withStore(create, run));
  };
  const erase = (store: Store, limit = 500): Promise<number> =>
    store.write((tx) => eraseSuperseded(tx, limit));
  const passTo = (store: Store, seq: number): Promise<void> => store.write((tx) => advanceCursor(tx, seq));
  const replace = (store: Store, home: Home, name: string, text: string): Promise<number> =>
    store.write(async (tx) => {
      const key = `${name}.doc.${home.namespace}.v1`;
      await updateRows(tx, 'records', { data: Buffer.from(text) }, { key });
      const row = await oneRow(tx, 'records', { where: { key } });
      return appendChanges(tx, [upsert(home, row)], 1);
    });

  describe('erasure', () => {
    scenario('a replaced payload stays until the fan-out has passed what replaced it', async (store) => {
      const home = await settle(store);
      await store.write((tx) => putRecord(tx, home, 'a'));
      await store.write((tx) => putRecord(tx, home, 'b'));
      await replace(store, home, 'a', 'second');
      await passTo(store, 2);
      await erase(store);
      assert.deepEqual(await payloads(store), ['payload of a', 'payload of b', 'second']);
      assert.equal(await isErasureDue(store.read), false);
      await passTo(store, 3);
      assert.equal(await isErasureDue(store.read), true);
      await erase(store);
      assert.deepEqual(await payloads(store), [null, 'payload of b', 'second']);
      assert.equal(await isErasureDue(store.read), false);
    });

    scenario('a payload that was erased is not read any more, however new it is', async (store) => {
      const home = await settle(store);
      const stop = store.changes.onChange(() => {});
      await store.write((tx) => putRecord(tx, home, 'a'));
      await replace(store, home, 'a', 'second');
      await passTo(store, 2);
      await erase(store);
      const found = await changesAfter(store.changes, 0, 10);
      const payloadsRead = found.map((change) => (change.type === 'record.upserted' ? change.data : ''));
      assert.deepEqual(payloadsRead, [null, Buffer.from('second').toString('base64')]);
      stop();
    });

    scenario(
      'a view that reads on past a payload that is gone has none of before, in a namespace that was opened meanwhile',
      async (store) => {
        const home = await settle(store);
        const view = createMemoryView();
        const readOn = async (limit: number): Promise<void> => {
          const changes = await changesAfter(store.changes, view.cursor() ?? 0, limit);
          await view.apply(changes, changes.at(-1)!.seq);
        };
        const shown = (): unknown => [
          view.namespace(home.namespace)?.publicRead,
          payloadText(view.record(`a.doc.${home.namespace}.v1`)),
        ];
        await store.write((tx) => putRecord(tx, home, 'a', { data: Buffer.from('secret') }));
        await readOn(1);
        await replace(store, home, 'a', 'for everybody');
        const opened = namespaceUpserted(home.namespace, true, false, home.namespaceId) as NewChange;
        await store.write((tx) => appendChanges(tx, [{ ...opened, owner: null, cause: 'direct' }], 1));
        await replace(store, home, 'a', 'later');
        await passTo(store, 4);
        await erase(store);
        await readOn(2);
        assert.deepEqual(shown(), [true, 'withheld']);
        await readOn(1);
        assert.deepEqual(shown(), [true, 'later']);
      },
    );

    scenario('a deleted record leaves no payload, a new one under its key keeps its own', async (store) => {
      const home = await settle(store);
      const key = 'a.doc.acme.v1';
      await store.write((tx) => putRecord(tx, home, 'a'));
      await store.write(async (tx) => {
        const { id } = await oneRow(tx, 'records', { columns: ['id'] });
        await deleteRecords(tx, [id]);
        const gone = {
          type: 'record.deleted',
          owner: null,
          cause: 'direct',
          key,
          namespace: 'acme',
        } as const;
        await appendChanges(tx, [gone], 1);
      });
      await store.write((tx) => putRecord(tx, home, 'a', { data: Buffer.from('again') }));
      await passTo(store, 3);
      await erase(store);
      assert.deepEqual(await payloads(store), [null, 'again']);
    });

    scenario('looks each key up by an index, whatever the length of the log', async (store) => {
      const home = await settle(store);
      await store.write(async (tx) => {
        for (let i = 0; i < 300; i++) await putRecord(tx, home, `k${i}`);
      });
      await passTo(store, 300);
      const plans = await plansOf(store, (db) => eraseSuperseded(db as Tx, 500));
      const erasing = plans.filter((plan) => plan.includes('superseded'));
      assert.equal(erasing.length, 1, 'one statement for 300 keys');
      // PostgreSQL chooses by its statistics, which a table of this size does not have.
      if (store.engine === 'postgres') return;
      for (const plan of erasing) assert.match(plan, /SEARCH superseded USING INDEX change_log_key/);
    });

    scenario('goes on in units, over many keys', async (store) => {
      const home = await settle(store);
      await store.write(async (tx) => {
        for (let i = 0; i < 300; i++) await putRecord(tx, home, `k${i}`);
      });
      for (let i = 0; i < 3; i++) await replace(store, home, `k${i}`, `new ${i}`);
      await passTo(store, 303);
      const done = [await erase(store, 200), await erase(store, 200), await erase(store, 200)];
      assert.deepEqual(done, [200, 103, 0]);
      const left = await payloads(store);
      assert.deepEqual(left.slice(0, 4), [null, null, null, 'payload of k3']);
      assert.deepEqual(left.slice(300), ['new 0', 'new 1', 'new 2']);
    });

    scenario(
      'a write that races with the deletion of its namespace leaves no payload (R5)',
      async (store) => {
        const home = await settle(store);
        for (let i = 0; i < 10; i++) await store.write((tx) => putRecord(tx, home, `k${i}`));
        const ids = (await findRows(store.read, 'records', { columns: ['id'] })).map(({ id }) => id);
        const deps = testDeps(store);
        const actor = testActor(home);
        const secret = Buffer.from('top secret').toString('base64');
        const patches = ids.map((id) => patchRecord(deps, actor, id, { data: secret }));
        const deletion = deleteNamespace(deps, actor, home.namespaceId);
        const late = ids.map((id) => patchRecord(deps, actor, id, { data: secret }));
        await Promise.allSettled([...patches, ...late]);
        await deletion;
        await deleteClosed({ store, clock: () => 1, signal: new AbortController().signal });
        await assert.rejects(patchRecord(deps, actor, ids[0]!, { data: secret }), /Record not found/);
        const { head } = await store.changes.bounds();
        await passTo(store, head);
        await erase(store, 1_000);
        assert.deepEqual(new Set(await payloads(store)), new Set([null]));
      },
    );
  });
});

/** Of every upsert in the log, in order. */
async function payloads(store: Store): Promise<(string | null)[]> {
  const changes = await changesAfter(store.changes, 0, 10_000);
  return changes.flatMap((change) => {
    if (change.type !== 'record.upserted') return [];
    return [change.data === null ? null : Buffer.from(change.data, 'base64').toString()];
  });
}
