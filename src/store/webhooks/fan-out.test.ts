import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { changesAfter } from '../../../test/support/feed/changes-after.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import * as world from '../../../test/support/store/fan-out-world.ts';
import { putRecord, withStore } from '../../../test/support/store/fixtures.ts';
import { findRows, updateRows } from '../../../test/support/store/rows.ts';
import { startFanOut } from '../../control/webhooks/fan-out.ts';
import type { NewChange } from '../log/change-log.ts';
import { eraseSuperseded } from '../log/change-log.ts';
import type { Store } from '../store.ts';
import { endWaiting } from './deliveries.ts';
import { deleteWebhookRow, lockWebhook, updateWebhook } from './webhooks.ts';

/** Hex SHA-256 of a token. */
const DIGEST = 'ab'.repeat(32);

/** From the log to deliveries: order, numbers, filters, and each event once, also across a crash. */
onEachEngine((create) => {
  const scenario = (title: string, run: Parameters<typeof withStore>[1]): void => {
    it(title, () => withStore(create, run));
  };

  describe('fan-out', () => {
    scenario(
      'numbers each customer’s events in commit order, without a gap, while many write',
      async (store, open) => {
        const homes = [await world.settlePaying(store, 'acme'), await world.settlePaying(store, 'beta')];
        const hooks = await Promise.all(homes.map((home) => world.addHook(store, home)));
        const ending = new AbortController();
        const loops = [store, store, await open()].map((one) =>
          startFanOut({
            store: one,
            clock: Date.now,
            newId: () => crypto.randomUUID(),
            signal: ending.signal,
            wake: () => {},
            onError: (error) => assert.fail(String(error)),
            pollMs: 20,
          }),
        );
        const units = homes.flatMap((home) =>
          Array.from({ length: 30 }, (_, index) =>
            store.write(async (tx) => {
              await putRecord(tx, home, `k${index}`);
              if (index % 5 === 0) throw new Error('taken back');
            }),
          ),
        );
        await Promise.allSettled(units);
        const { head } = await store.changes.bounds();
        while ((await world.cursorOf(store)).seq < head) await sleep(5);
        ending.abort();
        await Promise.all(loops);
        const log = await changesAfter(store.changes, 0, 1_000);
        for (const [index, home] of homes.entries()) {
          const expected = log
            .filter((change) => change.owner === home.customerId)
            .map((change, place) => `${place + 1} ${change.type} ${'key' in change ? change.key : ''}`);
          assert.equal(expected.length, 24);
          assert.deepEqual(await world.toldOf(store, hooks[index]!), expected);
          const times = (await world.deliveriesOf(store, hooks[index]!)).map(
            (row) => row.next_attempt_at ?? 0,
          );
          assert.deepEqual(
            times,
            times.toSorted((a, b) => a - b),
          );
        }
      },
    );

    scenario(
      'what a clock that was ahead made due later is due with the next event, still in order; a retry waits as before',
      async (store) => {
        const home = await world.settlePaying(store, 'acme');
        const hook = await world.addHook(store, home);
        const hour = 3_600_000;
        const tellAt = async (name: string, now: number): Promise<void> => {
          await world.append(store, world.deletions(home, [name]));
          await world.testFanout(store, { clock: () => now }).pass(false);
        };
        const dueTimes = async (): Promise<readonly (number | null)[]> =>
          (await world.deliveriesOf(store, hook)).map((row) => row.next_attempt_at);
        await tellAt('retried', hour);
        await store.write((tx) =>
          updateRows(tx, 'webhook_deliveries', { attempts: 1 }, { webhook_id: hook }),
        );
        await tellAt('a', hour);
        // A second is the usual difference of two clocks: order by time of creation costs no statement then.
        await tellAt('b', hour - 1_000);
        assert.deepEqual(await dueTimes(), [hour, hour, hour]);
        await tellAt('c', hour - 1_001);
        assert.deepEqual(await dueTimes(), [hour, hour - 1_001, hour - 1_001, hour - 1_001]);
        await tellAt('d', 2_000);
        assert.deepEqual(await dueTimes(), [hour, 2_000, 2_000, 2_000, 2_000]);
        const [row] = await findRows(store.read, 'webhooks', { where: { id: hook } });
        assert.equal(row?.next_due_at, 2_000);
        assert.ok((await world.deliveriesOf(store, hook)).every((each) => each.created_at === hour));
      },
    );

    scenario('without a next event the next search makes it due, of every webhook', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hooks = [await world.addHook(store, home), await world.addHook(store, home)];
      const hour = 3_600_000;
      const search = (now: number): Promise<unknown> =>
        world.testFanout(store, { clock: () => now, firstDelayMs: 5 }).pass(false);
      const dueTimes = async (): Promise<readonly unknown[]> => {
        const deliveries = await Promise.all(hooks.map((hook) => world.deliveriesOf(store, hook)));
        const rows = await Promise.all(
          hooks.map((id) => findRows(store.read, 'webhooks', { where: { id } })),
        );
        return [
          ...deliveries.flat().map((row) => row.next_attempt_at),
          ...rows.flat().map((row) => row.next_due_at),
        ];
      };
      await world.append(store, world.deletions(home, ['a']));
      await search(hour);
      await search(hour - 1_000);
      assert.deepEqual(await dueTimes(), Array(4).fill(hour + 5));
      await search(hour - 1_001);
      assert.deepEqual(await dueTimes(), Array(4).fill(hour - 996));
      await store.write((tx) =>
        updateRows(tx, 'webhook_deliveries', { attempts: 1 }, { webhook_id: hooks[1]! }),
      );
      await search(2_000);
      assert.deepEqual(await dueTimes(), [2_005, hour - 996, 2_005, hour - 996]);
    });

    scenario(
      'a unit that fails leaves nothing, and one whose end nobody knows is not repeated',
      async (store) => {
        const home = await world.settlePaying(store, 'acme');
        const hook = await world.addHook(store, home);
        await world.append(store, world.deletions(home, world.numbered(9)));
        let units = 0;
        const dying = (before: boolean, at: number): Store => ({
          ...store,
          write: async (work) => {
            const result = await store.write(async (tx) => {
              const done = await work(tx);
              if (before && ++units === at) throw new Error('died before the commit');
              return done;
            });
            if (!before && ++units === at) throw new Error('died after the commit');
            return result;
          },
        });
        const limits = { rows: 2 };
        for (const [before, told] of [
          [true, 1],
          [false, 5],
        ] as const) {
          units = 0;
          const fanout = world.testFanout(dying(before, 2), { limits });
          await assert.rejects(fanout.pass(false), /died/);
          assert.equal((await world.deliveriesOf(store, hook)).length, told);
        }
        // The same one goes on, and so does one that knows nothing.
        units = 0;
        const same = world.testFanout(dying(false, 1), { limits });
        await assert.rejects(same.pass(false), /died/);
        await same.pass(true);
        await world.testFanout(store, { limits }).pass(false);
        const expected = world
          .numbered(9)
          .map((key, index) => `${index + 1} record.deleted ${world.keyIn('acme', key)}`);
        assert.deepEqual(await world.toldOf(store, hook), expected);
      },
    );

    scenario('one that finds another ahead of it goes on from there', async (store, open) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      const limits = { rows: 2 };
      const first = world.testFanout(store, { limits });
      const second = world.testFanout(await open(), { limits });
      await Promise.all([first.pass(false), second.pass(false)]);
      await world.append(store, world.deletions(home, world.numbered(3, 'a')));
      await first.pass(true);
      await second.pass(true);
      await world.append(store, world.deletions(home, world.numbered(3, 'b')));
      await second.pass(true);
      await first.pass(true);
      await world.append(store, world.deletions(home, world.numbered(3, 'c')));
      await Promise.all([first.pass(true), second.pass(true)]);
      const keys = ['a', 'b', 'c'].flatMap((letter) => world.numbered(3, letter));
      const expected = keys.map((key, index) => `${index + 1} record.deleted ${world.keyIn('acme', key)}`);
      assert.deepEqual(await world.toldOf(store, hook), expected);
    });

    scenario('tells each webhook what it asked for, of its own customer', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const other = await world.settlePaying(store, 'beta');
      const free = await world.settlePaying(store, 'gamma', 'free');
      const hooks = {
        all: await world.addHook(store, home),
        deletes: await world.addHook(store, home, { events: '["record.deleted","namespace.deleted"]' }),
        scoped: await world.addHook(store, home, { namespaces: '["wide","acme2"]' }),
        disabled: await world.addHook(store, home, { enabled: 0 }),
        late: await world.addHook(store, home, { starts_after: 3 }),
        other: await world.addHook(store, other),
        free: await world.addHook(store, free),
      };
      const owned = { owner: home.customerId, cause: 'direct', namespace: 'acme' } as const;
      const deleted = (name: string, more: object, namespace = 'acme'): NewChange =>
        ({
          ...owned,
          namespace,
          type: 'record.deleted',
          key: world.keyIn(namespace, name),
          ...more,
        }) as NewChange;
      await store.write((tx) => putRecord(tx, home, 'a'));
      await world.append(store, [
        deleted('expired', { cause: 'expiry' }),
        deleted('b', {}, 'acme2'),
        { ...owned, type: 'token.minted', digest: DIGEST, expiresAt: 9 },
        { ...owned, type: 'token.revoked', digest: DIGEST },
        deleted('theirs', { owner: other.customerId }, 'beta'),
        deleted('unowned', { owner: null }),
        deleted('unpaid', { owner: free.customerId }),
        { ...owned, type: 'namespace.deleted', id: 'n' },
      ]);
      await world.testFanout(store).pass(false);
      const record = '1 record.upserted a.doc.acme.v1';
      assert.deepEqual(await world.toldOf(store, hooks.all), [
        record,
        '2 record.deleted b.doc.acme2.v1',
        '3 namespace.deleted acme',
      ]);
      assert.deepEqual(await world.toldOf(store, hooks.deletes), [
        '2 record.deleted b.doc.acme2.v1',
        '3 namespace.deleted acme',
      ]);
      assert.deepEqual(await world.toldOf(store, hooks.scoped), ['2 record.deleted b.doc.acme2.v1']);
      assert.deepEqual(await world.toldOf(store, hooks.disabled), []);
      assert.deepEqual(await world.toldOf(store, hooks.late), ['3 namespace.deleted acme']);
      assert.deepEqual(await world.toldOf(store, hooks.other), ['1 record.deleted theirs.doc.beta.v1']);
      assert.deepEqual(await world.deliveriesOf(store, hooks.free), []);
    });

    scenario('tells nothing of what happened before a webhook, or while it was disabled', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const fanout = world.testFanout(store);
      const happens = async (key: string): Promise<number> => {
        const seq = await world.append(store, world.deletions(home, [key]));
        return seq;
      };
      const first = await happens('before');
      const hook = await world.addHook(store, home, { starts_after: first });
      await happens('told');
      await fanout.pass(false);
      await world.setHook(store, hook, { enabled: 0 });
      const missed = await happens('missed');
      await world.setHook(store, hook, { enabled: 1, starts_after: missed });
      await happens('told-again');
      await fanout.pass(true);
      assert.deepEqual(await world.toldOf(store, hook), [
        '2 record.deleted told.doc.acme.v1',
        '4 record.deleted told-again.doc.acme.v1',
      ]);
    });

    scenario('an upsert is told with its data, also when the record is deleted at once', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      await store.write((tx) => putRecord(tx, home, 'a'));
      await world.append(store, world.deletions(home, ['a']));
      await store.write((tx) => eraseSuperseded(tx, 500));
      await world.testFanout(store).pass(false);
      await store.write((tx) => eraseSuperseded(tx, 500));
      const told = await world.deliveriesOf(store, hook);
      const base64 = Buffer.from('payload of a').toString('base64');
      assert.deepEqual(
        told.map(({ event, parsed }) => [event, parsed?.data.data]),
        [
          ['record.upserted', base64],
          ['record.deleted', undefined],
        ],
      );
      const rows = await findRows(store.read, 'change_log', { columns: ['data'] });
      assert.deepEqual(
        rows.map(({ data }) => data),
        [null, null],
      );
    });

    scenario('a webhook that is disabled or deleted meanwhile has nothing that waits', async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hooks: string[] = [];
      for (let index = 0; index < 20; index++) hooks.push(await world.addHook(store, home));
      const fanout = world.testFanout(store, { limits: { rows: 40 } });
      const ending = hooks.map(async (hook, index) => {
        await world.append(store, world.deletions(home, [`k${index}`]));
        await store.write(async (tx) => {
          const row = await lockWebhook(tx, hook, home.customerId);
          await endWaiting(tx, hook, [], 500);
          if (index % 2 === 0) await updateWebhook(tx, row!, { enabled: 0, next_due_at: null });
          else await deleteWebhookRow(tx, hook);
        });
      });
      let isOver = false;
      const all = Promise.all(ending).finally(() => {
        isOver = true;
      });
      while (!isOver) await fanout.pass(true);
      await all;
      await world.append(store, world.deletions(home, ['last']));
      await fanout.pass(true);
      const rows = await findRows(store.read, 'webhook_deliveries', { columns: ['status'] });
      assert.ok(rows.every(({ status }) => status === 'failed'));
      assert.deepEqual(fanout.errors, []);
    });
  });
});
