import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { itemLines, itemName, withDatasets } from '../../../test/support/store/dataset-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { findRows, query } from '../../../test/support/store/rows.ts';
import { createMemoryView } from '../../../test/support/view/memory-view.ts';
import { LIMITS } from '../../base/limits.ts';
import { retireDataset } from '../../control/datasets/versions.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { CHECKPOINT_ROOM, proofRoom } from '../../protocol/datasets/log-txt.ts';
import { publishedChange, retireVersions } from '../dataset-changes.ts';
import { listVersions } from '../datasets.ts';
import type { Store } from '../store.ts';
import {
  insertLogCheckpoint,
  insertLogEntries,
  insertLogHead,
  moveLogHead,
  publishLogCheckpoint,
  setLogProof,
} from '../transparency.ts';
import { deleteRetired } from '../upkeep.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** What a view that is built anew has of the log. @param loaded is called after each page @param later what comes after the pages */
async function rebuilt(
  store: Store,
  loaded: (page: readonly ChangeBody[]) => Promise<void> = async () => {},
  later: readonly ChangeBody[] = [],
) {
  const view = createMemoryView();
  const { seq, epoch, pages } = await store.changes.openSnapshot();
  const next = await view.rebuild();
  for await (const page of pages) {
    await next.load(page);
    await loaded(page);
  }
  await next.finish(later, seq, epoch);
  return view.datasets;
}

/** The versions that a view has served which read the log change by change. Each has its last item when it is served. */
async function servedWhileRead(store: Store): Promise<readonly string[]> {
  const view = createMemoryView();
  const served = new Set<string>();
  const { epoch, head } = await store.changes.bounds();
  const next = await view.rebuild();
  await next.finish([], 0, epoch);
  for (let seq = 0; seq < head; seq++) {
    await view.apply(await store.changes.since(epoch, seq, 1), seq + 1);
    const manifest = view.datasets.manifest('demo', null);
    if (manifest === null) continue;
    served.add(manifest.version);
    assert.equal(view.datasets.identity('demo', itemName(349)).length, 1);
  }
  return [...served];
}

async function prove(store: Store, proofs: Readonly<Record<string, string>>): Promise<void> {
  const versions = await listVersions(store.read, ['served']);
  await store.write(async (tx) => {
    await insertLogHead(tx, 'a.example/log');
    const entries = versions.map(({ id, slug, version }, idx) => ({
      idx,
      kind: 'manifest' as const,
      name: `${slug}@${version}`,
      leaf: Buffer.from('leaf'),
      hash: Buffer.alloc(32),
      version_id: id,
    }));
    await insertLogEntries(tx, entries);
    await moveLogHead(tx, entries.length);
    for (const { idx, name } of entries) {
      const proof = proofs[name];
      if (proof !== undefined) await setLogProof(tx, idx, proof);
    }
  });
}

function sign(store: Store, size: number, note: string): Promise<void> {
  return store.write((tx) =>
    insertLogCheckpoint(tx, { size, root: Buffer.alloc(32), note, published: null }),
  );
}

onEachEngine((create) => {
  describe('a view that reads the log late', () => {
    it('never serves a version that is retired by now, whether its parts are deleted or will be', () =>
      withDatasets((world) =>
        withStore(create, async (store) => {
          const items = itemLines(350);
          for (const version of ['1.0.0', '1.1.0'])
            await world.import(store, world.sign(version, items), { unitParts: 1 });
          await retireDataset({ store, clock: Date.now }, 'demo', '1.1.0');
          assert.deepEqual(await servedWhileRead(store), ['1.0.0']);
          await deleteRetired(store, new AbortController().signal);
          assert.deepEqual(await servedWhileRead(store), ['1.0.0']);
          await world.import(store, world.sign('1.2.0', items));
          assert.deepEqual(await servedWhileRead(store), ['1.0.0', '1.2.0']);
        }),
      ));
  });

  describe('a page of the log', () => {
    it('that is cut ends with items, also behind a version that has lost its own', () =>
      withDatasets((world) =>
        withStore(create, async (store) => {
          const { epoch, head: from } = await store.changes.bounds();
          await world.import(store, world.sign('1.0.0', itemLines(9_000)), { unitParts: 8 });
          const cut = await store.changes.since(epoch, from, 1_000);
          assert.deepEqual([cut.length, cut.at(-1)!.type], [64, 'dataset.items']);
          await retireDataset({ store, clock: Date.now }, 'demo', '1.0.0');
          await deleteRetired(store, new AbortController().signal);
          const { head } = await store.changes.bounds();
          assert.equal((await store.changes.since(epoch, from, 1_000)).at(-1)!.seq, head);
        }),
      ));
  });

  describe('a view that is built from the tables', () => {
    it('does not serve a version that was retired, and lost its items, before they were read', () =>
      withDatasets((world) =>
        withStore(create, async (store) => {
          for (const version of ['1.0.0', '1.1.0'])
            await world.import(store, world.sign(version, itemLines(2)));
          let isRetired = false;
          const view = await rebuilt(store, async (page) => {
            if (isRetired || !page.some(({ type }) => type === 'dataset.items')) return;
            isRetired = true;
            await retireDataset({ store, clock: Date.now }, 'demo', '1.1.0');
            await deleteRetired(store, new AbortController().signal);
          });
          assert.equal(view.manifest('demo', null)?.version, '1.0.0');
          assert.equal(view.identity('demo', itemName(1)).length, 1);
        }),
      ));

    it('does not serve a version that was retired while it was read, also where it was published after the snapshot began', () =>
      withDatasets((world) =>
        withStore(create, async (store) => {
          await world.import(store, world.sign('1.0.0', itemLines(2)));
          const { signed, ...files } = world.sign('1.1.0', itemLines(2));
          await world.import(store, { signed, ...files });
          const [row] = await findRows(store.read, 'dataset_versions', { where: { version: '1.1.0' } });
          // As it was before its last unit.
          await store.write((tx) =>
            query(tx, "update dataset_versions set state = 'importing' where version = '1.1.0'"),
          );
          const published = publishedChange({ id: row!.id, manifest: JSON.stringify(signed) });
          const served = await rebuilt(store, undefined, [published]);
          assert.equal(served.manifest('demo', null)?.version, '1.1.0');
          let isRetired = false;
          const retire = async (): Promise<void> => {
            if (isRetired) return;
            isRetired = true;
            const rows = (await listVersions(store.read, ['importing'])).filter(({ id }) => id === row!.id);
            await store.write((tx) => retireVersions(tx, rows, Date.now()));
            await deleteRetired(store, new AbortController().signal);
          };
          const view = await rebuilt(store, retire, [published]);
          assert.equal(isRetired, true);
          assert.equal(view.manifest('demo', null)?.version, '1.0.0');
          assert.equal(view.identity('demo', itemName(1)).length, 1);
        }),
      ));

    it('has the proofs of served versions and the newest published checkpoint, as far as DNS has room for them', () =>
      withDatasets((world) =>
        withStore(create, async (store) => {
          for (const version of ['1.0.0', '1.1.0', '1.2.0', '1.3.0'])
            await world.import(store, world.sign(version, itemLines(2)));
          const room = proofRoom({ slug: 'demo', version: '1.0.0' });
          await prove(store, {
            'demo@1.0.0': 'p'.repeat(room),
            'demo@1.1.0': 'p'.repeat(room + 1),
            'demo@1.2.0': 'é\n',
          });
          const before = await rebuilt(store);
          assert.equal(before.proof('demo', '1.0.0')?.base64.length, (room / 3) * 4);
          assert.equal(before.proof('demo', '1.1.0'), null);
          assert.equal(before.proof('demo', '1.2.0')?.base64, base64('é\n'));
          assert.equal(before.proof('demo', '1.3.0'), null);
          assert.equal(before.checkpoint(), null);

          await sign(store, 1, 'signed alone');
          assert.equal((await rebuilt(store)).checkpoint(), null);
          await store.write((tx) => publishLogCheckpoint(tx, 1, 'published', 1));
          await sign(store, 2, 'signed later');
          assert.equal((await rebuilt(store)).checkpoint(), base64('published'));
          await store.write((tx) => publishLogCheckpoint(tx, 2, 'c'.repeat(CHECKPOINT_ROOM), 2));
          assert.equal((await rebuilt(store)).checkpoint(), base64('c'.repeat(LIMITS.logText)));

          await retireDataset({ store, clock: Date.now }, 'demo', '1.2.0');
          const after = await rebuilt(store);
          assert.equal(after.proof('demo', '1.2.0'), null);
          assert.equal(after.proof('demo', '1.0.0')?.base64.length, (room / 3) * 4);
        }),
      ));
  });
});
