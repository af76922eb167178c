import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LogWorld, withLog } from '../../../test/support/control/transparency/log-world.ts';
import { changesAfter } from '../../../test/support/feed/changes-after.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { createMemoryView } from '../../../test/support/view/memory-view.ts';
import { LIMITS } from '../../base/limits.ts';
import { checkpointTxt, proofTxt } from '../../protocol/datasets/log-txt.ts';
import { parseLogProof } from '../../protocol/transparency/proof.ts';
import { checkNote } from '../../protocol/transparency/signatures.ts';
import { findLogProof } from '../../store/transparency.ts';
import { verifierKeyOfLog } from './init.ts';

const LONG = {
  slug: 's'.repeat(LIMITS.datasetSlug),
  version: `1.2.${'3'.repeat(LIMITS.datasetVersion - 4)}`,
};

/** What a node has that followed the change log, and one that was built from the tables: the same. */
async function onNodes({ store }: LogWorld) {
  const views = [createMemoryView(), createMemoryView()];
  const [followed, built] = views as [(typeof views)[0], (typeof views)[0]];
  await followed.apply(await changesAfter(store.changes, 0, 1000), 1);
  const { seq, epoch, pages } = await store.changes.openSnapshot();
  const next = await built.rebuild();
  for await (const page of pages) await next.load(page);
  await next.finish([], seq, epoch);
  const [found, again] = views.map(({ datasets }) => ({
    checkpoint: datasets.checkpoint(),
    proof: datasets.proof(LONG.slug, LONG.version)?.base64 ?? null,
  }));
  assert.deepEqual(again, found);
  return found!;
}

/** Names of those who cosigned. @throws where the policy does not trust the note */
function cosignersOf({ policy, keys }: LogWorld, note: string): string[] {
  const trust = { ...policy, logs: [{ key: verifierKeyOfLog(keys.key!), url: null }] };
  const judged = checkNote(note, trust);
  assert.ok(judged.valid, JSON.stringify(judged));
  return judged.cosigners.map(({ name }) => name);
}

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

/** Policies ask for more than half of their witnesses. */
onEachEngine((create) => {
  describe('the cosignatures that nodes get', () => {
    it('are the first of the policy, as many as a DNS answer has room for, with a quorum among them', () =>
      withLog(
        create,
        async (world) => {
          await world.init();
          await world.publish(LONG.version, LONG.slug);
          await world.settle();
          const { proof, checkpoint } = await onNodes(world);
          assert.ok(proof !== null && checkpoint !== null);
          assert.ok(proofTxt(LONG, proof).length <= LIMITS.txtValue);
          assert.ok(checkpointTxt(checkpoint).length <= LIMITS.txtValue);
          const all = world.policy.witnesses.map(({ name }) => name);
          const ofProof = cosignersOf(world, parseLogProof(textOf(proof))!.checkpoint);
          const ofCheckpoint = cosignersOf(world, textOf(checkpoint));
          for (const some of [ofProof, ofCheckpoint]) {
            assert.deepEqual(some, all.slice(0, some.length));
            assert.ok(some.length < all.length);
          }
          // One more has no room: a proof has less of it, for its hashes, its slug and its version.
          assert.ok(ofProof.length < ofCheckpoint.length);
          const line = 4 * Math.ceil(textOf(checkpoint).trimEnd().split('\n').at(-1)!.length / 3);
          assert.ok(proofTxt(LONG, proof).length + line + 8 > LIMITS.txtValue);
        },
        24,
      ));

    it('are none where no quorum has room: HTTPS has the proof with all of them', () =>
      withLog(
        create,
        async (world) => {
          await world.init();
          await world.publish(LONG.version, LONG.slug);
          await world.settle();
          assert.deepEqual(await onNodes(world), { checkpoint: null, proof: null });
          const proof = await findLogProof(world.store.read, `${LONG.slug}@${LONG.version}`);
          assert.equal(cosignersOf(world, parseLogProof(proof!)!.checkpoint).length, 50);
          assert.ok((await world.published()) > 0);
        },
        50,
      ));
  });
});
