import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import * as world from '../../../test/support/store/fan-out-world.ts';
import { type Home, withStore } from '../../../test/support/store/fixtures.ts';
import { findRows, query, updateRows } from '../../../test/support/store/rows.ts';
import { eraseSuperseded, isErasureDue, pruneLog } from '../log/change-log.ts';
import type { Store } from '../store.ts';

/** Units have four rows, of which one customer gets one: with a second change it falls behind. */
const limits = { rows: 4 };

/** What is told of deletions of these names. */
const told = (home: Home, names: readonly string[]): string[] =>
  names.map((name, index) => `${index + 1} record.deleted ${world.keyIn(home.namespace, name)}`);

/** A process that dies at its `units`th commit, before or after it. */
async function dieAt(store: Store, units: number, when: 'before' | 'after'): Promise<void> {
  let left = units;
  const write: Store['write'] = async (work) => {
    const value = await store.write(async (tx) => {
      const done = await work(tx);
      if (--left === 0 && when === 'before') throw new Error('died');
      return done;
    });
    if (left === 0) throw new Error('died');
    return value;
  };
  await assert.rejects(world.testFanout({ ...store, write }, { limits }).pass(false), /died/);
}

/** Whom the fan-out has told of less than others. */
async function behind(store: Store): Promise<(number | null)[]> {
  const rows = await findRows(store.read, 'event_counters', { order: 'customer_id' });
  return rows.map((row) => row.behind).filter((seq) => seq !== null);
}

onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('turns of the fan-out', () => {
    scenario('a customer is told before the rest of what another one wrote first', async (store) => {
      const heavy = await world.settlePaying(store, 'acme');
      const light = await world.settlePaying(store, 'beta');
      const hook = await world.addHook(store, heavy);
      const theirs = await world.addHook(store, light);
      const names = world.numbered(30);
      await world.append(store, world.deletions(heavy, names));
      await world.append(store, world.deletions(light, ['x']));
      await dieAt(store, 1, 'after');
      assert.deepEqual(await world.toldOf(store, theirs), told(light, ['x']));
      assert.deepEqual(await world.toldOf(store, hook), told(heavy, ['k1']));
      assert.deepEqual(await behind(store), [1]);
      await world.testFanout(store, { limits }).pass(false);
      assert.deepEqual(await world.toldOf(store, hook), told(heavy, names));
      assert.deepEqual(await behind(store), []);
    });

    scenario('customers who are behind take turns, and new changes go before the turns', async (store) => {
      const homes: Home[] = [];
      const hooks: string[] = [];
      for (const name of ['acme', 'beta']) {
        const home = await world.settlePaying(store, name);
        homes.push(home);
        hooks.push(await world.addHook(store, home));
        await world.append(store, world.deletions(home, world.numbered(9)));
      }
      const sizes = async (): Promise<number[]> =>
        Promise.all(hooks.map(async (hook) => (await world.deliveriesOf(store, hook)).length));
      await dieAt(store, 3, 'after');
      assert.deepEqual(await sizes(), [5, 5]);
      const late = await world.settlePaying(store, 'gamma');
      const theirs = await world.addHook(store, late);
      await world.append(store, world.deletions(late, ['x']));
      await dieAt(store, 1, 'after');
      assert.deepEqual(await world.toldOf(store, theirs), told(late, ['x']));
      assert.deepEqual(await sizes(), [5, 5]);
      await world.testFanout(store, { limits }).pass(false);
      for (const [index, hook] of hooks.entries())
        assert.deepEqual(await world.toldOf(store, hook), told(homes[index]!, world.numbered(9)));
    });

    scenario('wherever a process dies, another one tells the rest once and in order', async (store, open) => {
      const heavy = await world.settlePaying(store, 'acme');
      const light = await world.settlePaying(store, 'beta');
      const hook = await world.addHook(store, heavy);
      const theirs = await world.addHook(store, light);
      const second = world.testFanout(await open(), { limits });
      const names: string[] = [];
      for (const when of ['before', 'after'] as const) {
        for (const units of [1, 2, 3]) {
          const made = world.numbered(11, `${when}-${units}-`);
          names.push(...made);
          await world.append(store, world.deletions(heavy, made));
          await world.append(store, world.deletions(light, made.slice(0, 1)));
          await dieAt(store, units, when);
          names.push(`new-${when}-${units}`);
          await world.append(store, world.deletions(heavy, names.slice(-1)));
          await Promise.all([second.pass(false), world.testFanout(store, { limits }).pass(false)]);
          assert.deepEqual(await world.toldOf(store, hook), told(heavy, names));
          assert.deepEqual(await behind(store), []);
        }
      }
      assert.equal((await world.toldOf(store, theirs)).length, 6);
    });

    scenario('what a customer has not been told of is neither erased nor pruned', async (store) => {
      const heavy = await world.settlePaying(store, 'acme');
      await world.addHook(store, heavy);
      await world.append(store, world.deletions(heavy, world.numbered(9)), 1);
      await dieAt(store, 2, 'after');
      assert.deepEqual(await behind(store), [5]);
      assert.equal((await world.cursorOf(store)).seq, 9);
      assert.equal(await store.write((tx) => eraseSuperseded(tx, 100)), 5);
      assert.equal(await isErasureDue(store.read), false);
      assert.equal(await store.write((tx) => pruneLog(tx, 9_000, 100)), 5);
      await world.testFanout(store, { limits }).pass(false);
      assert.equal(await isErasureDue(store.read), true);
      assert.equal(await store.write((tx) => pruneLog(tx, 9_000, 100)), 4);
    });

    scenario('a customer who is deleted while behind holds nothing up', async (store) => {
      const heavy = await world.settlePaying(store, 'acme');
      await world.addHook(store, heavy);
      await world.append(store, world.deletions(heavy, world.numbered(9)), 1);
      await dieAt(store, 1, 'after');
      await store.write((tx) => query(tx, 'delete from event_counters'));
      await world.testFanout(store, { limits }).pass(false);
      assert.equal(await store.write((tx) => pruneLog(tx, 9_000, 100)), 9);
    });

    scenario(
      'events from before a webhook was enabled again are passed over, behind or not',
      async (store) => {
        const heavy = await world.settlePaying(store, 'acme');
        const hook = await world.addHook(store, heavy);
        const head = await world.append(store, world.deletions(heavy, world.numbered(9)));
        await dieAt(store, 1, 'after');
        await world.setHook(store, hook, { starts_after: head });
        await world.append(store, world.deletions(heavy, ['x']));
        await world.testFanout(store, { limits }).pass(false);
        assert.deepEqual(await world.toldOf(store, hook), [
          ...told(heavy, ['k1']),
          `10 record.deleted ${world.keyIn('acme', 'x')}`,
        ]);
        assert.deepEqual(await behind(store), []);
      },
    );

    scenario('after a log that ends before it a customer is told of all that is new', async (store) => {
      const heavy = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, heavy);
      await world.append(store, world.deletions(heavy, world.numbered(9)));
      await dieAt(store, 2, 'after');
      await store.write(async (tx) => {
        await query(tx, 'delete from webhook_deliveries');
        await query(tx, 'delete from change_log where seq > 3');
        await updateRows(tx, 'feed_head', { seq: 3 });
      });
      let isRewound = false;
      const write: Store['write'] = async (work) => {
        const value = await store.write(work);
        if (!isRewound) await world.append(store, world.deletions(heavy, ['x', 'y', 'z']));
        isRewound = true;
        return value;
      };
      const fanout = world.testFanout({ ...store, write }, { limits });
      await fanout.pass(false);
      assert.match(String(fanout.errors), /^LogRewoundError/);
      assert.deepEqual(await behind(store), []);
      assert.equal((await world.toldOf(store, hook)).length, 3);
    });

    scenario('processes find one another’s dropped deliveries, also those of a turn', async (store, open) => {
      const heavy = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, heavy);
      const more = { limits: { ...limits, waiting: 0, droppedKept: 6 } };
      const first = world.testFanout(store, more);
      const second = world.testFanout(await open(), more);
      for (const fanout of [first, second, first]) {
        await world.append(store, world.deletions(heavy, world.numbered(3)));
        await fanout.pass(true);
      }
      assert.equal((await world.deliveriesOf(store, hook)).length, 6);
    });
  });
});
