import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testActor, testDeps } from '../../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { settle, withStore } from '../../../test/support/store/fixtures.ts';
import type { Store } from '../../store/store.ts';
import { patchNamespace } from '../namespaces/rules.ts';
import { writeBulk } from '../records/bulk.ts';
import { sweepExpired } from '../records/expiry.ts';
import { type ExportedRecord, exportRecords } from '../records/listing.ts';
import { exportThen } from './export.ts';

const COUNT = 1_200;

async function all(batches: AsyncIterable<readonly ExportedRecord[]>): Promise<ExportedRecord[]> {
  const found: ExportedRecord[] = [];
  for await (const batch of batches) found.push(...batch);
  return found;
}

/** A namespace with history and many records, made in three times, in no order of key. */
async function bigWorld(store: Store) {
  let now = 1_000_000;
  const home = await settle(store);
  const actor = testActor(home);
  const deps = testDeps(store, () => now);
  await patchNamespace(deps, actor, home.namespaceId, { history: { versions: 100, days: 365 } });
  const keys = Array.from({ length: COUNT }, (_, i) => `k${(i * 7919) % COUNT}.doc.${home.namespace}.v1`);
  const put = async (chosen: readonly string[], data: string, lifetime = {}): Promise<void> => {
    for (let at = 0; at < chosen.length; at += 400) {
      now += 1;
      const records = chosen.slice(at, at + 400).map((key) => ({ key, data, ...lifetime }));
      await writeBulk(deps, actor, { records });
    }
  };
  const pass = async (seconds: number): Promise<void> => {
    now += seconds * 1000;
    while ((await sweepExpired(store, now, 500)) > 0);
  };
  const remove = async (chosen: readonly string[]): Promise<void> => {
    for (let at = 0; at < chosen.length; at += 400) {
      now += 1;
      await writeBulk(deps, actor, { delete: chosen.slice(at, at + 400) });
    }
  };
  await put(keys, 'Zmlyc3Q=');
  const at = now;
  const then = await all(exportRecords(deps, actor, home.namespace));
  const exportOf = async () => exportThen(deps, actor, home.namespace, new Date(at).toISOString());
  now += 1;
  return { keys, put, remove, pass, then, exportOf };
}

onEachEngine((create) => {
  describe('the export of an earlier time', () => {
    it('is that export, line by line, whatever was replaced, deleted and made again since', () =>
      withStore(create, async (store) => {
        const { keys, put, remove, pass, then, exportOf } = await bigWorld(store);
        assert.equal(then.length, COUNT);
        const third = (n: number) => keys.filter((_, i) => i % 3 === n);
        await put(third(0), 'c2Vjb25k');
        await put(third(2).slice(0, 50), 'c2hvcnQ=', { expires_in: 1 });
        await pass(2);
        await put(third(2).slice(0, 10), 'YWdhaW4=');
        await remove(third(1));
        await put(third(1).slice(0, 100), 'YWdhaW4=');
        await remove(keys.slice(0, 500));
        await put(['later.doc.acme.v1'], 'bGF0ZXI=');
        assert.deepEqual(await all(await exportOf()), then);
        await remove(keys);
        assert.deepEqual(await all(await exportOf()), then, 'nothing is left');
      }));

    it('has each record once while records are replaced and deleted', () =>
      withStore(create, async (store) => {
        const { keys, put, remove, then, exportOf } = await bigWorld(store);
        // So many are gone that they are read in several parts between two parts of those that are left.
        await remove(keys.filter((_, i) => i % 6 !== 0));
        const found: ExportedRecord[] = [];
        let round = 0;
        for await (const batch of await exportOf()) {
          found.push(...batch);
          if (round++ % 5 !== 0) continue;
          const part = keys.filter((_, i) => i % 11 === round % 11);
          await (round % 10 === 1 ? remove(part) : put(part, 'bWVhbndoaWxl'));
        }
        assert.deepEqual(found, then);
      }));
  });
});
