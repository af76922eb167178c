import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { itemLines, withDatasets } from '../../../test/support/store/dataset-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { createMemoryView } from '../../../test/support/view/memory-view.ts';
import { LIMITS } from '../../base/limits.ts';
import { retireDataset } from '../../control/datasets/versions.ts';
import { CHECKPOINT_ROOM, proofRoom } from '../../protocol/datasets/log-txt.ts';
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

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** What a view that is built anew has of the log. */
async function rebuilt(store: Store) {
  const view = createMemoryView();
  const { seq, epoch, pages } = await store.changes.openSnapshot();
  const next = await view.rebuild();
  for await (const page of pages) await next.load(page);
  await next.finish([], seq, epoch);
  return view.datasets;
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
  describe('a view that is built from the tables', () => {
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
