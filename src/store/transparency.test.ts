import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../test/support/store/engines.ts';
import { withStore } from '../../test/support/store/fixtures.ts';
import type { Store } from './store.ts';
import {
  cutLogEntries,
  endLogTurn,
  findLogProof,
  holdLogHead,
  insertLogCheckpoint,
  insertLogEntries,
  insertLogHead,
  insertTileRoots,
  lastEntriesOf,
  lastPublishedCheckpoint,
  lastSignedCheckpoint,
  moveLogHead,
  proofOfVersion,
  publishLogCheckpoint,
  readLogEntries,
  readLogHead,
  readTileHashes,
  setLogProof,
  takeLogTurn,
  unprovedManifests,
} from './transparency.ts';

const hash = (n: number): Buffer => Buffer.alloc(32, n);

function entry(idx: number, name: string, kind: 'manifest' | 'retirement' = 'manifest') {
  return { idx, kind, name, leaf: Buffer.from(`${kind} ${idx}`), hash: hash(idx), version_id: `row-${idx}` };
}

function add(store: Store, ...entries: readonly ReturnType<typeof entry>[]): Promise<void> {
  return store.write(async (tx) => {
    const head = await holdLogHead(tx);
    await insertLogEntries(tx, entries);
    await moveLogHead(tx, head!.size + entries.length);
  });
}

onEachEngine((create) => {
  describe('the tables of the transparency log', () => {
    it('have no head before one is made, and then keep the first', () =>
      withStore(create, async (store) => {
        assert.equal(await readLogHead(store.read), null);
        assert.equal(await store.write((tx) => holdLogHead(tx)), null);
        assert.equal(await store.write((tx) => insertLogHead(tx, 'a.example/log')), true);
        assert.equal(await store.write((tx) => insertLogHead(tx, 'b.example/log')), false);
        assert.deepEqual({ ...(await readLogHead(store.read)) }, { size: 0, origin: 'a.example/log' });
      }));

    it('give a number back that a unit took and did not commit', () =>
      withStore(create, async (store) => {
        await store.write((tx) => insertLogHead(tx, 'a.example/log'));
        const failing = store.write(async (tx) => {
          const head = await holdLogHead(tx);
          await insertLogEntries(tx, [entry(head!.size, 'x@1.0.0')]);
          await moveLogHead(tx, head!.size + 1);
          throw new Error('rolled back');
        });
        await assert.rejects(failing, /rolled back/);
        await add(store, entry(0, 'y@1.0.0'));
        const entries = await readLogEntries(store.read, 0, 10);
        assert.deepEqual(
          entries.map(({ idx, name }) => [idx, name]),
          [[0, 'y@1.0.0']],
        );
        assert.equal((await readLogHead(store.read))!.size, 1);
      }));

    it('never have two entries of a number, nor two checkpoints of a size', () =>
      withStore(create, async (store) => {
        await store.write((tx) => insertLogHead(tx, 'a.example/log'));
        await add(store, entry(0, 'x@1.0.0'));
        await assert.rejects(store.write((tx) => insertLogEntries(tx, [entry(0, 'y@1.0.0')])));
        const signed = { size: 1, root: hash(1), note: 'one', published: null };
        await store.write((tx) => insertLogCheckpoint(tx, signed));
        await assert.rejects(store.write((tx) => insertLogCheckpoint(tx, { ...signed, root: hash(2) })));
        assert.equal((await lastSignedCheckpoint(store.read))!.note, 'one');
        assert.equal(await lastPublishedCheckpoint(store.read), null);
        await store.write((tx) => publishLogCheckpoint(tx, 1, 'one, cosigned', 7));
        assert.equal((await lastPublishedCheckpoint(store.read))!.note, 'one, cosigned');
      }));

    it('know the last entry of a name', () =>
      withStore(create, async (store) => {
        await store.write((tx) => insertLogHead(tx, 'a.example/log'));
        await add(store, entry(0, 'x@1.0.0'), entry(1, 'y@1.0.0'), entry(2, 'x@1.0.0', 'retirement'));
        const last = await lastEntriesOf(store.read, ['x@1.0.0', 'y@1.0.0', 'z@1.0.0']);
        assert.deepEqual(
          last.map(({ name, kind, idx }) => [name, kind, idx]),
          [
            ['y@1.0.0', 'manifest', 1],
            ['x@1.0.0', 'retirement', 2],
          ],
        );
      }));

    it('keep the first proof of a manifest, also once it is retired', () =>
      withStore(create, async (store) => {
        await store.write((tx) => insertLogHead(tx, 'a.example/log'));
        await add(store, entry(0, 'x@1.0.0'), entry(1, 'x@1.0.0', 'retirement'), entry(2, 'x@1.0.0'));
        const missing = await unprovedManifests(store.read, 2, 10);
        assert.deepEqual(
          missing.map(({ idx }) => idx),
          [0],
        );
        await store.write(async (tx) => {
          assert.equal(await setLogProof(tx, 0, 'first'), true);
          assert.equal(await setLogProof(tx, 0, 'other'), false);
          assert.equal(await setLogProof(tx, 2, 'third'), true);
        });
        assert.equal(await findLogProof(store.read, 'x@1.0.0'), 'first');
        assert.equal(await proofOfVersion(store.read, 'x@1.0.0', 'row-2'), 'third');
        assert.equal(await proofOfVersion(store.read, 'x@1.0.0', 'row-9'), null);
        assert.equal(await findLogProof(store.read, 'y@1.0.0'), null);
      }));

    it('lose entries that were not signed together with the tiles above them', () =>
      withStore(create, async (store) => {
        await store.write((tx) => insertLogHead(tx, 'a.example/log'));
        await add(
          store,
          ...Array.from({ length: 520 }, (_, idx) => entry(idx % 256, `n${idx}`)).map((one, idx) => ({
            ...one,
            idx,
          })),
        );
        await store.write((tx) =>
          insertTileRoots(tx, [
            { level: 0, n: 0, hash: hash(7) },
            { level: 0, n: 1, hash: hash(8) },
          ]),
        );
        assert.deepEqual(
          (await readTileHashes(store.read, 1, 0, 9)).map((one) => Buffer.from(one)),
          [hash(7), hash(8)],
        );
        await store.write((tx) => cutLogEntries(tx, 300));
        assert.equal((await readLogEntries(store.read, 0, 1000)).length, 300);
        assert.equal((await readTileHashes(store.read, 0, 290, 310)).length, 10);
        assert.equal((await readTileHashes(store.read, 1, 0, 9)).length, 1);
      }));

    it('let one process have its turn, and another once that has ended', () =>
      withStore(create, async (store) => {
        const turn = (holder: string, now: number): Promise<boolean> =>
          store.write((tx) => takeLogTurn(tx, holder, now, now + 100));
        assert.equal(await turn('a', 0), false, 'there is no log');
        await store.write((tx) => insertLogHead(tx, 'a.example/log'));
        assert.equal(await turn('a', 1000), true);
        assert.equal(await turn('b', 1050), false);
        assert.equal(await turn('a', 1050), true);
        assert.equal(await turn('b', 1150), true);
        assert.equal(await turn('c', 900), true, 'a clock that was set back holds nobody up');
        await store.write((tx) => endLogTurn(tx, 'b'));
        assert.equal(await turn('a', 900), false, 'only the one whose turn it is ends it');
        await store.write((tx) => endLogTurn(tx, 'c'));
        assert.equal(await turn('a', 900), true);
      }));
  });
});
