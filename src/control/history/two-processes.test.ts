import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { actingUnits, testActor, testDeps } from '../../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { settle, withStore } from '../../../test/support/store/fixtures.ts';
import { query } from '../../../test/support/store/rows.ts';
import { AppError } from '../../base/errors.ts';
import type { UseCaseDeps } from '../../process/use-case-deps.ts';
import type { Store } from '../../store/store.ts';
import { pruneVersions } from '../../store/version-retention.ts';
import { patchNamespace } from '../namespaces/rules.ts';
import { writeBulk } from '../records/bulk.ts';
import { createRecord, deleteRecord, patchRecord } from '../records/rules.ts';
import { getVersion, listKeyVersions } from './rules.ts';

const HISTORY = { versions: 100, days: 1 };

/** Two stores on one database, with the same secret: as two processes have them. */
onEachEngine((create) => {
  describe('two processes', () => {
    it('keep every value of records that both write, each once', () =>
      withStore(create, async (store, open) => {
        const home = await settle(store);
        const actor = testActor(home);
        const first = testDeps(store, Date.now);
        const second: UseCaseDeps = { ...first, ...onStore(await open()) };
        const both = [first, second];
        await patchNamespace(first, actor, home.namespaceId, { history: HISTORY });
        const key = 'r.doc.acme.v1';
        const { id } = await createRecord(first, actor, { key, data: dataOf(0) });
        await Promise.all(
          Array.from({ length: 60 }, (_, i) => {
            const deps = both[i % 2]!;
            const data = dataOf(i + 1);
            return i % 3 === 0
              ? writeBulk(deps, actor, { records: [{ key, data }] })
              : patchRecord(deps, actor, id, { data });
          }),
        );
        const all = { key, limit: '100' };
        const { versions } = await listKeyVersions(second, actor, home.namespaceId, all);
        assert.deepEqual(
          versions.map(({ version }) => version),
          Array.from({ length: 61 }, (_, i) => 61 - i),
        );
        const found = await Promise.all(
          versions.map(({ version }, i) => getVersion(both[i % 2]!, actor, id, version)),
        );
        assert.deepEqual(
          new Set(found.map(({ data }) => data)),
          new Set(Array.from({ length: 61 }, (_, i) => dataOf(i))),
        );
        for (const [i, { valid_from }] of versions.entries()) {
          if (i > 0) assert.equal(versions[i]!.valid_to, versions[i - 1]!.valid_from, valid_from);
        }
        const counts = await query<{ versions: number; creations: number }>(
          store.read,
          'select versions, creations from histories',
        );
        assert.deepEqual(
          counts.map(({ versions: kept, creations }) => [kept, creations]),
          [[60, 1]],
        );
      }));

    it('end and begin a history under the writes of the other: no row is left that nobody counts', () =>
      withStore(create, async (store, open) => {
        const home = await settle(store);
        const actor = testActor(home);
        const first = testDeps(store, Date.now);
        const other = await open();
        const second: UseCaseDeps = { ...first, ...onStore(other) };
        let isOver = false;
        const switches = (async () => {
          for (let i = 0; i < 20; i++) {
            await patchNamespace(first, actor, home.namespaceId, { history: i % 2 === 0 ? HISTORY : null });
          }
          isOver = true;
        })();
        for (let i = 0; !isOver || i < 20; i++) {
          const key = `k${i % 5}.doc.acme.v1`;
          await writeBulk(second, actor, { records: [{ key, data: dataOf(i) }] });
          const made = await createRecord(second, actor, { key: `m${i}.doc.acme.v1`, data: '' });
          await deleteRecord(second, actor, made.id).catch((error: unknown) =>
            assert.ok(error instanceof AppError),
          );
        }
        await switches;
        await store.scrub();
        const { signal } = new AbortController();
        while (await pruneVersions(other, Date.now(), signal));
        for (const table of ['histories', 'record_versions', 'history_keys']) {
          assert.deepEqual(await query(store.read, `select * from ${table}`), [], table);
        }
      }));
  });
});

function onStore(store: Store): Pick<UseCaseDeps, 'store' | 'unit'> {
  return { store, unit: actingUnits(store) };
}

function dataOf(i: number): string {
  return Buffer.from(`value ${i}`).toString('base64');
}
