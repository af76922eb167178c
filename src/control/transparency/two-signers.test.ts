import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  assertWhole,
  leavesIn,
  START,
  withLog,
} from '../../../test/support/control/transparency/log-world.ts';
import { sendTo } from '../../../test/support/control/transparency/witness.ts';
import { openWorld } from '../../../test/support/http/world.ts';
import { newKey } from '../../../test/support/store/dataset-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { withStore } from '../../../test/support/store/fixtures.ts';
import { findRows } from '../../../test/support/store/rows.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { endedOrBlocked } from '../../../test/support/store/stepped.ts';
import { realRandom } from '../../base/chance.ts';
import { transparencyRules } from '../../protocol/transparency/entries.ts';
import { findKey } from '../../store/datasets.ts';
import { appendChanges } from '../../store/log/change-log.ts';
import type { Store } from '../../store/store.ts';
import { holdLogHead } from '../../store/transparency.ts';
import { ownKeyRows, storeKeys } from '../datasets/keys.ts';
import { appendLogEntries, keyEntry } from './append.ts';
import { createLogSigner } from './signer.ts';
import { rootAt } from './tree.ts';

/** Steps of each signer that another one may come between: it asks, and it has a new checkpoint cosigned. */
const ORDERS = ['aabb', 'abab', 'abba', 'baab', 'baba', 'bbaa'];

const noTurn = (store: Store): Promise<void> =>
  store.write(async (tx) => {
    await tx.execute('update log_head set holder = null', []);
  });

onEachEngine((create) => {
  describe('two signers of one log that do not know of each other', () => {
    for (const order of ORDERS) {
      it(`sign one history in the order ${order}`, () =>
        withLog(create, async (world) => {
          const other = await world.open();
          await world.init();
          await world.publish('1.0.0');
          const send = sendTo(world.witnesses);
          /** Rounds of questions that wait, of each signer. */
          const waiting = new Map<string, (() => void)[]>([
            ['a', []],
            ['b', []],
          ]);
          const signerOf = (name: string, store: Store) =>
            createLogSigner({
              store,
              clock: () => world.time,
              policy: world.policy,
              findKey: () => world.keys.find(),
              random: realRandom,
              async send(request) {
                await new Promise<void>((resolve) => waiting.get(name)!.push(resolve));
                return send(request);
              },
            });
          const passes = (
            [
              ['a', world.store],
              ['b', other],
            ] as const
          ).map(async ([name, store]) => {
            // The second one sees an entry more.
            if (name === 'b') await world.publish('1.1.0');
            await noTurn(store);
            return signerOf(name, store)
              .pass()
              .catch(() => null);
          });
          const ended = Promise.allSettled(passes).then(() => true);
          const isOver = async (): Promise<boolean> =>
            Promise.race([ended, new Promise<boolean>((resolve) => setTimeout(resolve, 5, false))]);
          for (let step = 0; !(await isOver()); step++) {
            const name = order[step % order.length]!;
            for (const go of waiting.get(name)!.splice(0)) go();
          }
          await assertWhole(world.store);
          await noTurn(world.store);
          await world.settle();
          assert.equal(await world.published(), 3);
          for (const { size, root } of await findRows(world.store.read, 'log_checkpoints'))
            assert.deepEqual(Buffer.from(root), Buffer.from(await rootAt(world.store.read, size)));
        }));
    }
  });

  describe('without UQRP_DATASETS_LOG', () => {
    it('nothing is appended, also where a log has begun, and the change log is what it was', () =>
      withLog(create, async (world) => {
        await world.init();
        const files = world.datasets.sign('1.0.0', '{"k":"a0","from":0,"to":9,"cc":"DE"}\n');
        await world.datasets.import(world.store, files);
        assert.equal((await findRows(world.store.read, 'log_entries')).length, 0);
        const rows = await findRows(world.store.read, 'change_log', { columns: ['type'], order: 'seq' });
        assert.deepEqual(
          rows.map(({ type }) => type),
          ['dataset.items', 'dataset.key', 'dataset.published'],
        );
      }));
  });
});

onEachEngine((create) => {
  describe('two units that store one key', () => {
    it('say in the log one beginning and one end of it, in whichever order they read and commit', () =>
      withLog(create, async (world) => {
        const { store, datasets } = world;
        const { key } = datasets;
        await world.init();
        await world.publish('1.0.0');
        const other = await world.open();
        const blocked = Promise.withResolvers<void>();
        const ended = store.write(async (tx) => {
          await holdLogHead(tx);
          const rows = ownKeyRows([key, newKey(START + 5000)]);
          const changes = await storeKeys(tx, rows);
          await appendLogEntries(tx, rows.map(keyEntry));
          // It has read the files of keys before the second one was there.
          const published = world.publish('1.1.0', 'demo', other);
          blocked.resolve(published);
          if (tx.engine === 'postgres') await endedOrBlocked(published, other.read);
          await appendChanges(tx, changes, world.time);
        });
        await Promise.all([ended, blocked.promise]);
        const rules = transparencyRules();
        const news = (await leavesIn(store)).flatMap((leaf) => rules.add(Buffer.from(leaf)));
        assert.deepEqual(
          news.map((one) => one.news),
          ['key_added', 'published', 'key_ended', 'key_added', 'published'],
          JSON.stringify(news),
        );
        assert.equal((await findKey(store.read, key.kid))?.until, START / 1000 + 5);
      }));
  });
});

describe('without UQRP_DATASETS_LOG', () => {
  it('its paths are answered as any path that is not there, octet for octet', () =>
    withStore(sqliteDatabase, async (store) => {
      const world = await openWorld(store);
      const answerOf = async (url: string) => {
        const { status, text, headers } = await world.inject({ method: 'GET', url });
        const { 'x-request-id': _id, date: _date, ...rest } = headers;
        return { status, text, rest };
      };
      const nothing = await answerOf('/lag/checkpoint');
      assert.equal(nothing.status, 404);
      for (const path of ['checkpoint', 'tile/0/000', 'tile/entries/000.p/1', 'proofs/demo/1.0.0'])
        assert.deepEqual(await answerOf(`/log/${path}`), nothing, path);
      await world.close();
    }));
});
