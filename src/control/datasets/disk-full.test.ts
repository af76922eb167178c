import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { itemLines, replay, servedOf, withDatasets } from '../../../test/support/store/dataset-world.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { query } from '../../../test/support/store/rows.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { isDiskFull } from '../../store/engine/engine-errors.ts';

describe('an import on a full disk', () => {
  it('fails, leaves the former version served, and goes on once there is room', () =>
    withStore(sqliteDatabase, (store) =>
      withDatasets(async (world) => {
        await world.import(store, world.sign('1.0.0', itemLines(3)));
        // A bound on the pages of the file is to SQLite what a full disk is.
        const bound = (pages: number) => store.write((tx) => query(tx, `pragma max_page_count = ${pages}`));
        const rows = await query<{ page_count: number }>(store.read, 'pragma page_count');
        await bound(rows[0]!.page_count + 8);
        const files = world.sign('2.0.0', itemLines(3000, 4));
        const stored: number[] = [];
        const onProgress = (parts: number): void => {
          stored.push(parts);
        };
        await assert.rejects(world.import(store, files, { unitParts: 2, onProgress }), (error: unknown) =>
          isDiskFull(error),
        );
        const before = stored.at(-1) ?? 0;
        assert.ok(before > 0);
        assert.deepEqual(servedOf(await replay(store, 'snapshot')), { '1.0.0': 3 });
        await bound(1_000_000);
        await world.import(store, files, { unitParts: 1, onProgress });
        assert.equal(stored[stored.indexOf(before) + 1], before + 1, 'nothing is stored twice');
        assert.deepEqual(servedOf(await replay(store, 'log')), { '1.0.0': 3, '2.0.0': 3000 });
      }),
    ));
});
