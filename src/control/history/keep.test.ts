import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testActor, testDeps } from '../../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { settle, withStore } from '../../../test/support/store/fixtures.ts';
import { query } from '../../../test/support/store/rows.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { RunUnit } from '../deps.ts';
import { patchNamespace } from '../namespaces/rules.ts';
import { writeBulk } from '../records/bulk.ts';
import { createRecord, deleteRecord, patchRecord } from '../records/rules.ts';
import { openVersions } from './keep.ts';

const HISTORY = { versions: 5, days: 5 };
const OF_HISTORY = /\b(?:record_versions|histories|history_keys)\b/;

/** Runs a unit of work and notes its statements. */
function watched(store: Store, texts: string[]): RunUnit {
  return (actor, work) =>
    store.write((tx) => {
      const noting: Tx = {
        engine: tx.engine,
        isUnit: true,
        rowId: tx.rowId,
        execute(sql, values) {
          texts.push(sql);
          return tx.execute(sql, values);
        },
        insertLast: (insert, values) => tx.insertLast(insert, values),
      };
      return work(noting, actor);
    });
}

onEachEngine((create) => {
  describe('what a write keeps', () => {
    it('costs no statement without history', () =>
      withStore(create, async (store) => {
        const home = await settle(store);
        const actor = testActor(home);
        const texts: string[] = [];
        const deps = { ...testDeps(store), unit: watched(store, texts) };
        const write = async (name: string): Promise<number> => {
          texts.length = 0;
          const key = `${name}.doc.acme.v1`;
          const { id } = await createRecord(deps, actor, { key, data: '' });
          await patchRecord(deps, actor, id, { data: 'AAAA' });
          await writeBulk(deps, actor, { records: [{ key, data: '' }], delete: [`no.${key}`] });
          await deleteRecord(deps, actor, id);
          return texts.filter((sql) => OF_HISTORY.test(sql)).length;
        };
        assert.equal(await write('a'), 0);
        await patchNamespace(deps, actor, home.namespaceId, { history: HISTORY });
        assert.ok((await write('b')) > 0);
        await patchNamespace(deps, actor, home.namespaceId, { history: null });
        assert.equal(await write('c'), 0);
      }));

    it('is encrypted, and belongs to its namespace, key and number', () =>
      withStore(create, async (store) => {
        const home = await settle(store);
        const actor = testActor(home);
        const deps = testDeps(store);
        await patchNamespace(deps, actor, home.namespaceId, { history: HISTORY });
        const data = Buffer.from('payload of the first value');
        const key = 'a.doc.acme.v1';
        const { id } = await createRecord(deps, actor, { key, data: data.toString('base64') });
        await patchRecord(deps, actor, id, { data: '' });
        const sql = "select * from record_versions where cause = 'write'";
        const [row] = await query<Parameters<NonNullable<Awaited<ReturnType<typeof openVersions>>>>[0]>(
          store.read,
          sql,
        );
        assert.ok(row);
        assert.equal(Buffer.from(row.data!).includes('payload'), false);
        const open = await openVersions(store.read, deps, {
          id: home.namespaceId,
          history_id: row.history_id,
        });
        assert.deepEqual(open?.(row), data);
        const changed = Uint8Array.from(row.data!, (octet, i) => (i === 20 ? octet ^ 1 : octet));
        for (const other of [{ key: 'b.doc.acme.v1' }, { version: 2 }, { data: changed }]) {
          assert.throws(() => open?.({ ...row, ...other }), /of another key or row/);
        }
        const elsewhere = await openVersions(store.read, deps, { id: 'other', history_id: row.history_id });
        assert.throws(() => elsewhere?.(row), /of another key or row/);
      }));
  });
});
