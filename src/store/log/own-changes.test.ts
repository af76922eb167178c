import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import type { Store } from '../store.ts';
import { advanceCursor } from '../webhooks/fan-out.ts';
import { appendChanges, BLOCK, type NewChange, pruneLog } from './change-log.ts';
import { ownChanges } from './own-changes.ts';

const change = (owner: string | null, at: string): NewChange => ({
  type: 'namespace.deleted',
  owner,
  cause: 'direct',
  namespace: `n-${at}`,
  id: at,
});

/** A deterministic sequence of owners: units of one, of several with changes of others between, and of the operator. */
function units(): (string | null)[][] {
  let state = 7;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
  return Array.from({ length: 120 }, () =>
    Array.from({ length: 1 + next(4) }, () => ['a', 'b', 'c', null][next(4)] ?? null),
  );
}

/** The changes of one customer among those of all. */
onEachEngine((create) => {
  describe('changes of a customer', () => {
    async function fill(store: Store): Promise<Map<string, number[]>> {
      const seqs = new Map<string, number[]>();
      let seq = 0;
      for (const [at, owners] of units().entries()) {
        await store.write((tx) =>
          appendChanges(
            tx,
            owners.map((owner) => change(owner, String(at))),
            at,
          ),
        );
        for (const owner of owners) {
          seq++;
          if (owner !== null) seqs.set(owner, [...(seqs.get(owner) ?? []), seq]);
        }
      }
      return seqs;
    }

    it('are read in commit order, page by page, from any place, and no others', () =>
      withStore(create, async (store) => {
        const seqs = await fill(store);
        for (const [owner, own] of seqs) {
          const read: number[] = [];
          for (let after = 0; ; after = read.at(-1) ?? 0) {
            const page = await ownChanges(store.read, { owner, after, limit: 7 });
            read.push(...page.map((row) => row.seq));
            if (page.length < 7) break;
          }
          assert.deepEqual(read, own);
          for (let after = 0; after < 60; after++) {
            const [first] = await ownChanges(store.read, { owner, after, limit: 1 });
            assert.equal(
              first?.seq,
              own.find((seq) => seq > after),
            );
          }
        }
        assert.deepEqual(await ownChanges(store.read, { owner: 'nobody', after: 0, limit: 9 }), []);
      }));

    it('go with the log when it is pruned, also from within a block', () =>
      withStore(create, async (store) => {
        const seqs = await fill(store);
        await store.write((tx) => advanceCursor(tx, 1_000));
        const { head } = await store.changes.bounds();
        const blocksLeft = async (): Promise<number[]> =>
          (
            await store.read.execute<{ block: number }>('select distinct block from feed_blocks', [])
          ).rows.map(({ block }) => block);
        for (let limit = 3; ; limit++) {
          if ((await store.write((tx) => pruneLog(tx, 1_000, limit))) === 0) break;
          const { oldest } = await store.changes.bounds();
          for (const [owner, own] of seqs) {
            const rows = await ownChanges(store.read, { owner, after: 0, limit: 500 });
            assert.deepEqual(
              rows.map(({ seq }) => seq),
              own.filter((seq) => seq >= oldest),
            );
          }
        }
        // That of the head goes on.
        assert.deepEqual(
          (await blocksLeft()).filter((block) => block < Math.floor((head + 1) / BLOCK)),
          [],
        );
      }));
  });
});
