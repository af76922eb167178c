import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import {
  assertWhole,
  type LogWorld,
  leavesIn,
  withLog,
} from '../../../test/support/control/transparency/log-world.ts';
import { response } from '../../../test/support/control/transparency/witness.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { checkLogProof } from '../../protocol/transparency/signatures.ts';
import { renewEpoch } from '../../store/service-facts.ts';
import { findLogProof, lastSignedCheckpoint, takeLogTurn } from '../../store/transparency.ts';
import { retireDataset } from '../datasets/versions.ts';
import { verifierKeyOfLog } from './init.ts';
import { RENEW_MS, runLogSigner } from './signer.ts';

/** Milliseconds after which the turn of another process has ended. */
const TURN_OVER = 60_001;

const signedSize = async ({ store }: LogWorld): Promise<number> =>
  (await lastSignedCheckpoint(store.read))!.size;

/** As after a backup from before: rows go, the witnesses stay. */
const setBack = ({ store }: LogWorld): Promise<void> =>
  store.write(async (tx) => {
    await tx.execute('delete from log_checkpoints where size > 0', []);
    await tx.execute('delete from log_entries', []);
    await tx.execute('update log_head set size = 0', []);
  });

onEachEngine((create) => {
  describe('the signer of the transparency log', () => {
    it('does nothing before the log has begun', () =>
      withLog(create, async (world) => {
        await world.publish('1.0.0');
        assert.equal(await world.signer.pass(), null);
        assert.equal(world.signer.report().state, 'absent');
        assert.deepEqual(await leavesIn(world.store), []);
      }));

    it('publishes what was served before the log and since, with a proof of each version', () =>
      withLog(create, async (world) => {
        await world.publish('1.0.0');
        await world.init();
        await world.settle();
        assert.equal(await world.published(), 2, 'a key and a manifest');
        await world.publish('1.1.0');
        await retireDataset({ store: world.store, clock: () => world.time, isLogged: true }, 'demo', '1.0.0');
        await world.settle();
        assert.equal(await world.published(), 4);
        assert.equal(world.signer.report().state, 'current');
        const leaves = await leavesIn(world.store);
        assert.deepEqual(
          leaves.map((leaf) => leaf.slice(0, 24)),
          [
            'v=svc-attest.v1;kid=',
            'v=svc-attest.v1;ds=d',
            'v=svc-attest.v1;ds=d',
            'v=svc-tindex.v1;ev=r',
          ].map((text, at) => text + leaves[at]!.slice(text.length, 24)),
        );
        const trust = { ...world.policy, logs: [{ key: verifierKeyOfLog(world.keys.key!), url: null }] };
        for (const version of ['1.0.0', '1.1.0']) {
          const proof = (await findLogProof(world.store.read, `demo@${version}`))!;
          const leaf = leaves.find((text) => text.includes(`;ver=${version};lic=`))!;
          const judged = checkLogProof(Buffer.from(leaf), proof, trust);
          assert.ok(judged.valid, JSON.stringify(judged));
        }
        const types = (
          await findRows(world.store.read, 'change_log', { columns: ['type'], order: 'seq' })
        ).map(({ type }) => type);
        assert.deepEqual(
          types.filter((type) => type.startsWith('log.')),
          ['log.proof', 'log.checkpoint', 'log.proof', 'log.checkpoint'],
        );
        await assertWhole(world.store);
      }));

    it('leaves its turn once nothing is left to do: after a restart nothing waits for it', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        await world.publish('1.1.0');
        await world.settle(world.signerOf(world.store));
        assert.equal(await world.published(), 3);
      }));

    it('shows a checkpoint to no witness before it is stored', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        const shown: number[] = [];
        for (const witness of world.witnesses) {
          witness.onAsked = async ({ size }) => {
            const stored = await signedSize(world);
            assert.ok(stored >= size, `size ${size} was shown, and ${stored} stored`);
            shown.push(size);
          };
        }
        await world.settle();
        assert.deepEqual([...new Set(shown)], [0, 2]);
      }));

    it('asks a quorum before it signs', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        const [one, two, three] = world.witnesses;
        one!.fault = two!.fault = () => ({ kind: 'failed', fault: 'timeout' });
        assert.ok((await world.signer.pass())! > 0);
        assert.equal(await signedSize(world), 0);
        assert.equal(world.signer.report().state, 'waiting');
        two!.fault = null;
        await world.settle();
        assert.equal(await world.published(), 2);
        assert.deepEqual(
          world.signer.report().witnesses.map(({ state }) => state),
          ['away', 'cosigned', 'cosigned'],
        );
        one!.fault = null;
        await world.publish('1.1.0');
        await world.settle();
        assert.equal(one!.size, 3, 'it proves from what a witness holds that was away');
        assert.equal(three!.size, 3);
      }));

    it('signs nothing in a database that lost commits, although append goes on', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        await setBack(world);
        await world.publish('1.1.0');
        const restored = world.signerOf(world.store);
        world.time += TURN_OVER;
        for (let i = 0; i < 3; i++) await restored.pass();
        assert.equal(restored.report().state, 'behind');
        assert.equal(await signedSize(world), 0);
        assert.equal((await leavesIn(world.store)).length > 0, true);
        assert.equal(await world.published(), 0);
      }));

    it('publishes nothing in a database that lost the checkpoint while witnesses cosigned it: its proofs are of other entries (seed 967125)', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        let isLost = false;
        world.witnesses[0]!.onAsked = async ({ size }) => {
          if (size === 0 || isLost) return;
          isLost = true;
          await setBack(world);
          await world.publish('1.1.0');
        };
        await world.signer.pass();
        assert.equal(isLost, true);
        assert.equal((await leavesIn(world.store)).length, 2);
        assert.equal(await findLogProof(world.store.read, 'demo@1.1.0'), null);
        assert.equal(await world.published(), 0);
      }));

    it('asks again where a standby took the place of the database: it may be behind, though nothing new is published', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        for (const witness of world.witnesses) witness.fault = () => response(409, '7\n');
        await world.signer.pass();
        assert.equal(world.signer.report().state, 'current');
        await world.store.write((tx) => renewEpoch(tx, world.time));
        await world.signer.pass();
        assert.equal(world.signer.report().state, 'behind');
      }));

    it('says after a restart that it is behind, also when nothing new is published', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        const started = world.signerOf(world.store);
        // The turn of a process that was killed: nothing is missing, so nothing waits.
        await world.store.write((tx) => takeLogTurn(tx, 'killed', world.time, world.time + TURN_OVER - 1));
        await started.pass();
        assert.equal(started.report().state, 'current');
        for (const witness of world.witnesses) witness.fault = () => response(409, '7\n');
        world.time += TURN_OVER;
        await started.pass();
        assert.equal(started.report().state, 'behind');
        for (const witness of world.witnesses) witness.fault = null;
        await started.pass();
        assert.equal(started.report().state, 'current');
        const asked = world.witnesses[0]!.asked.length;
        await started.pass();
        assert.equal(world.witnesses[0]!.asked.length, asked);
      }));

    it('signs nothing while one witness of a quorum holds more', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        world.witnesses[2]!.fault = () => response(409, '7\n');
        await world.signer.pass();
        assert.equal(world.signer.report().state, 'behind');
        assert.equal(await signedSize(world), 0);
      }));

    it('signs nothing once an entry was changed', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        await world.store.write(async (tx) => {
          await tx.execute(
            tx.engine === 'postgres'
              ? "update log_entries set leaf = 'x'::bytea where idx = 1"
              : "update log_entries set leaf = x'78' where idx = 1",
            [],
          );
        });
        await world.publish('1.1.0');
        const next = world.signerOf(world.store);
        world.time += TURN_OVER;
        await assert.rejects(next.pass(), { name: 'LogDamaged', message: /entry 1 was changed/ });
        assert.equal(next.report().state, 'damaged');
        assert.equal(await signedSize(world), 2);
      }));

    it('signs nothing once hashes give another root than the one that it signed', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        await world.store.write(async (tx) => {
          await tx.execute(
            'update log_entries set hash = (select root from log_checkpoints where size = 0) where idx = 0',
            [],
          );
        });
        await world.publish('1.1.0');
        await assert.rejects(world.signer.pass(), /do not give the root/);
        assert.equal(await signedSize(world), 2);
      }));

    it('has an unchanged head cosigned again after six hours', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        const asked = world.witnesses[0]!.asked.length;
        await world.signer.pass();
        assert.equal(world.witnesses[0]!.asked.length, asked);
        world.time += RENEW_MS;
        for (const witness of world.witnesses) witness.time += RENEW_MS / 1000;
        await world.settle();
        assert.equal(world.witnesses[0]!.asked.length, asked + 1);
        assert.equal(await world.published(), 2);
        assert.equal(world.signer.report().publishedAt, world.time);
      }));

    it('goes on where a process ended between two of its steps', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        // Signed, and no witness has it.
        let answers = 0;
        for (const witness of world.witnesses) {
          witness.fault = () => (++answers > 3 ? { kind: 'failed', fault: 'connection_failed' } : null);
        }
        await world.signer.pass();
        assert.equal(await signedSize(world), 2);
        assert.equal(await world.published(), 0);
        for (const witness of world.witnesses) witness.fault = null;
        const next = world.signerOf(world.store);
        world.time += TURN_OVER;
        await world.settle(next);
        assert.equal(await world.published(), 2);
      }));

    it('asks a witness that is away once in its time, whatever is committed meanwhile, and writes nothing once it is done', () =>
      withLog(create, async (world) => {
        const { store } = world;
        await world.init();
        for (const witness of world.witnesses) witness.fault = () => ({ kind: 'failed', fault: 'timeout' });
        await world.publish('1.0.0');
        const timers = createManualTimers();
        const ending = new AbortController();
        let commits = 0;
        store.onCommit(() => commits++);
        const loop = runLogSigner({
          signer: world.signer,
          store,
          signal: ending.signal,
          timers,
          onReport: () => {},
          onError: (error) => assert.fail(String(error)),
        });
        const asked = (): number => world.witnesses[0]!.asked.length;
        const second = async (): Promise<void> => {
          await timers.advance(1000);
          for (let i = 0; i < 20; i++) await sleep(1);
        };
        while (asked() === 0) await second();
        for (let i = 0; i < 10; i++) await second();
        assert.equal(asked(), 1);
        for (const witness of world.witnesses) witness.fault = null;
        for (let i = 0; i < 40 && (await world.published()) === 0; i++) await second();
        assert.equal(await world.published(), 2);
        for (let i = 0; i < 3; i++) await second();
        const before = commits;
        for (let i = 0; i < 10; i++) await second();
        assert.equal(commits, before);
        ending.abort();
        await loop;
      }));

    it('takes its turn from a process that has ended', () =>
      withLog(create, async (world) => {
        await world.init();
        await world.publish('1.0.0');
        await world.settle();
        await world.publish('1.1.0');
        const { time, store } = world;
        await store.write((tx) => takeLogTurn(tx, 'killed in its pass', time, time + TURN_OVER - 1));
        const other = world.signerOf(store);
        assert.ok((await other.pass())! > 0);
        assert.equal(await world.published(), 2, 'the turn is that of the first');
        world.time += TURN_OVER;
        await world.settle(other);
        assert.equal(await world.published(), 3);
      }));
  });
});
