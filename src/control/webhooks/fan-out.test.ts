import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { describe, it } from 'node:test';
import * as world from '../../../test/support/store/fan-out-world.ts';
import { type Home, withStore } from '../../../test/support/store/fixtures.ts';
import { findRows, query } from '../../../test/support/store/rows.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { timeOrderedUuids } from '../../base/ids.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { NewChange } from '../../store/log/change-log.ts';
import type { Store } from '../../store/store.ts';
import type { EnqueuedCounts } from './delivery-batch.ts';
import { DroppedCounts } from './dropped-counts.ts';
import { nextSpan } from './enqueue.ts';
import { type FanOutOptions, startFanOut } from './fan-out.ts';

const scenario = (title: string, run: (store: Store) => Promise<void>): void => {
  it(title, () => withStore(sqliteDatabase, run));
};

interface Loop {
  /** `enqueued`, `wake` and `failed`. */
  readonly events: EventEmitter<{ enqueued: [EnqueuedCounts]; wake: []; failed: [unknown] }>;
  stop(): Promise<void>;
}

function loopOn(store: Store, more: Partial<FanOutOptions> = {}): Loop {
  const events: Loop['events'] = new EventEmitter();
  const ending = new AbortController();
  const stopped = startFanOut({
    store,
    clock: Date.now,
    newId: timeOrderedUuids(Date.now),
    signal: ending.signal,
    wake: () => events.emit('wake'),
    onError: (error) => events.emit('failed', error),
    onEnqueued: (counts) => events.emit('enqueued', counts),
    ...more,
  });
  return {
    events,
    async stop() {
      ending.abort();
      await stopped;
    },
  };
}

describe('the loop of the fan-out', () => {
  scenario(
    'after a unit that failed it goes on from the database, which may be another one',
    async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      let isLost = false;
      const write: Store['write'] = (work) =>
        isLost ? Promise.reject(new Error('lost')) : store.write(work);
      const fanOut = world.testFanout({ ...store, write });
      await world.append(store, world.deletions(home, ['a', 'b', 'c']));
      await fanOut.pass(false);
      await world.append(store, world.deletions(home, ['d']));
      isLost = true;
      await assert.rejects(fanOut.pass(true), /lost/);
      isLost = false;
      // A backup of the time of the first change takes its place.
      await store.write(async (tx) => {
        await query(tx, 'delete from webhook_deliveries');
        await query(tx, 'delete from change_log where seq > 1');
        await query(tx, 'update feed_head set seq = 1');
        await query(tx, "update feed_cursors set seq = 1 where name = 'webhooks'");
      });
      await world.append(store, world.deletions(home, ['e', 'f', 'g', 'h']));
      await fanOut.pass(true);
      const told = (await world.deliveriesOf(store, hook)).map(({ parsed }) => parsed?.data.key);
      assert.deepEqual(
        told,
        ['e', 'f', 'g', 'h'].map((name) => world.keyIn('acme', name)),
      );
    },
  );

  /** A standby that lacks all but the first change takes the place of the database. */
  const failOver = (store: Store): Promise<void> =>
    store.write(async (tx) => {
      await query(tx, 'delete from webhook_deliveries');
      await query(tx, 'delete from change_log where seq > 1');
      await query(tx, 'update feed_head set seq = 1');
      await query(tx, "update feed_cursors set seq = 1 where name = 'webhooks'");
      await query(tx, "update service_facts set value = 'other' where name = 'epoch'");
    });

  scenario(
    'goes on from a database that took the place of the other between a look and its unit (events after a failover)',
    async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const other = await world.settlePaying(store, 'beta');
      const hook = await world.addHook(store, home);
      let isNext = false;
      const write: Store['write'] = async (work) => {
        if (isNext) {
          isNext = false;
          await failOver(store);
          await world.append(store, world.deletions(home, ['e', 'f', 'g', 'h']));
        }
        return store.write(work);
      };
      let ms = 0;
      const timers = { ...realTimers, elapsed: () => ms };
      // An event to enqueue, and a place to save after a second without one.
      for (const owner of [home, other]) {
        const fanOut = world.testFanout({ ...store, write }, { timers });
        await world.append(store, world.deletions(home, ['a', 'b', 'c']));
        await fanOut.pass(false);
        await world.append(store, world.deletions(owner, ['d']));
        ms += 2_000;
        isNext = true;
        await fanOut.pass(true);
        assert.equal(isNext, false);
        const told = (await world.deliveriesOf(store, hook)).map(({ parsed }) => parsed?.data.key);
        assert.deepEqual(
          told,
          ['e', 'f', 'g', 'h'].map((name) => world.keyIn('acme', name)),
        );
        await store.write((tx) =>
          query(tx, "update service_facts set value = 'before' where name = 'epoch'"),
        );
      }
    },
  );

  for (const woken of [true, false]) {
    scenario(
      `goes on from a database that took the place of the other while no unit ran, ${woken ? 'woken' : 'by itself'} (events after a failover)`,
      async (store) => {
        const home = await world.settlePaying(store, 'acme');
        const hook = await world.addHook(store, home);
        const fanOut = world.testFanout(store);
        await world.append(store, world.deletions(home, ['a', 'b', 'c', 'd']));
        await fanOut.pass(false);
        await failOver(store);
        await world.append(store, world.deletions(home, ['e', 'f', 'g', 'h']));
        await fanOut.pass(woken);
        const told = (await world.deliveriesOf(store, hook)).map(({ parsed }) => parsed?.data.key);
        assert.deepEqual(
          told,
          ['e', 'f', 'g', 'h'].map((name) => world.keyIn('acme', name)),
        );
      },
    );
  }

  scenario('is woken by a commit, and wakes who delivers', async (store) => {
    const home = await world.settlePaying(store, 'acme');
    await world.addHook(store, home);
    const loop = loopOn(store, { pollMs: 2 ** 30 });
    for (const key of ['a', 'b']) {
      const told = Promise.all([once(loop.events, 'wake'), once(loop.events, 'enqueued')]);
      await world.append(store, world.deletions(home, [key]));
      const [, [counts]] = await told;
      assert.deepEqual(counts, { events: 1, waiting: 1, dropped: 0, unwritten: 0 });
    }
    await loop.stop();
  });

  scenario('finds what no wake-up told of', async (store) => {
    const home = await world.settlePaying(store, 'acme');
    await world.addHook(store, home);
    const deaf: Store = { ...store, changes: { ...store.changes, onChange: () => () => {} } };
    const loop = loopOn(deaf, { pollMs: 1 });
    for (const key of ['a', 'b']) {
      const told = once(loop.events, 'enqueued');
      await world.append(store, world.deletions(home, [key]));
      await told;
    }
    await loop.stop();
  });

  scenario(
    'after a commit that it did not hear of it goes on from the database, and tells each event once (W05)',
    async (store) => {
      const home = await world.settlePaying(store, 'acme');
      const hook = await world.addHook(store, home);
      let lost = 1;
      const losing: Store = {
        ...store,
        async write(work) {
          const value = await store.write(work);
          // The unit is committed, and the connection is lost before the answer comes.
          if (lost-- > 0) throw new Error('connection lost');
          return value;
        },
      };
      const fanOut = world.testFanout(losing);
      await fanOut.pass(true);
      lost = 1;
      await world.append(store, world.deletions(home, ['a', 'b']));
      await assert.rejects(fanOut.pass(true), /connection lost/);
      lost = 0;
      // Another process went on meanwhile.
      await world.append(store, world.deletions(home, ['c']));
      await world.testFanout(store).pass(false);
      await fanOut.pass(true);
      const { rows } = {
        rows: await findRows(store.read, 'webhook_deliveries', { where: { webhook_id: hook } }),
      };
      assert.equal(rows.length, 3);
    },
  );

  scenario('says once what failed, and goes on', async (store) => {
    const home = await world.settlePaying(store, 'acme');
    const hook = await world.addHook(store, home);
    let failures = 2;
    const failing: Store = {
      ...store,
      write: (work) => (failures-- > 0 ? Promise.reject(new Error('disk')) : store.write(work)),
    };
    const errors: unknown[] = [];
    await world.append(store, world.deletions(home, ['a']));
    const loop = loopOn(failing, { pollMs: 1, onError: (error) => errors.push(error) });
    await once(loop.events, 'enqueued');
    await loop.stop();
    assert.deepEqual(errors.map(String), ['Error: disk']);
    assert.ok(failures < 0);
    assert.deepEqual(await world.toldOf(store, hook), ['1 record.deleted a.doc.acme.v1']);
  });

  scenario('stops at once on an abort, also before its start', async (store) => {
    await loopOn(store, { pollMs: 2 ** 30 }).stop();
    await startFanOut({
      store,
      clock: Date.now,
      newId: () => '',
      signal: AbortSignal.abort(),
      wake: () => assert.fail(),
      onError: () => assert.fail(),
    });
  });

  scenario('the deletion of a namespace of 50,000 records delays no other event', async (store) => {
    const home = await world.settlePaying(store, 'acme');
    const other = await world.settlePaying(store, 'beta');
    const hooks = [];
    for (let index = 0; index < 3; index++) hooks.push(await world.addHook(store, home));
    const theirs = await world.addHook(store, other);
    await world.append(store, world.deletions(home, world.numbered(50_000)));
    const fanout = world.testFanout(store, { clock: Date.now });
    let isOver = false;
    let written = 0;
    // Another writer writes meanwhile.
    const writing = (async () => {
      for (; !isOver && written < 5_000; written++)
        await world.append(store, world.deletions(other, [`w${written}`]));
    })();
    await fanout.pass(false);
    isOver = true;
    await writing;
    await fanout.pass(true);
    for (const hook of hooks) {
      const rows = await world.deliveriesOf(store, hook);
      const count = (status: string): number => rows.filter((row) => row.status === status).length;
      assert.equal(count('pending'), LIMITS.webhookPending);
      assert.equal(count('dropped'), LIMITS.webhookDroppedKept);
      assert.equal(rows.at(-1)?.seq, rows.length);
    }
    const [first] = await findRows(store.read, 'event_counters', {
      columns: ['seq'],
      where: { customer_id: home.customerId },
    });
    assert.equal(first?.seq, 50_000);
    const told = await world.deliveriesOf(store, theirs);
    assert.equal(told.length, Math.min(written, LIMITS.webhookPending + LIMITS.webhookDroppedKept));
    assert.ok(written > 1);
    const unwritten = fanout.units.reduce((sum, unit) => sum + unit.unwritten, 0);
    assert.ok(unwritten >= 3 * (50_000 - LIMITS.webhookPending - LIMITS.webhookDroppedKept));
  });
});

describe('what one unit is about', () => {
  scenario(
    'the owners of events who have webhooks that are enabled, up to the last change',
    async (store) => {
      const homes = [];
      for (const name of ['acme', 'beta', 'gamma']) homes.push(await world.settlePaying(store, name));
      const [acme, beta, gamma] = homes as [Home, Home, Home];
      for (const home of [acme, acme, beta]) await world.addHook(store, home);
      await world.addHook(store, gamma, { enabled: 0 });
      const [event] = world.deletions(acme, ['k']) as [NewChange];
      const table: [string, Partial<NewChange>, string[]][] = [
        ['an event', {}, [acme.customerId]],
        ['one of another', { owner: beta.customerId }, [beta.customerId]],
        ['one whose webhook is disabled', { owner: gamma.customerId }, []],
        ['one without an owner', { owner: null }, []],
        ['expiry', { cause: 'expiry' }, []],
        ['a token', { type: 'token.revoked', key: undefined, digest: 'a'.repeat(64) } as object, []],
      ];
      for (const [what, more, owners] of table) {
        const other = { ...event, ...more } as NewChange;
        const last = await world.append(store, [event, other]);
        const { epoch } = await store.changes.bounds();
        const span = { after: last - 1, until: last, owners, isLast: true, epoch };
        assert.deepEqual(await nextSpan(store.read, last - 1), span, what);
      }
      const { head } = await store.changes.bounds();
      assert.equal(await nextSpan(store.read, head), null);
      const all = await nextSpan(store.read, 0);
      assert.deepEqual(all?.owners.toSorted(), [acme.customerId, beta.customerId].toSorted());
      assert.equal(all.until, head);
    },
  );

  scenario('fewer changes where the webhooks would be too many, one at least', async (store) => {
    const homes: Home[] = [];
    for (const name of numberedNames(6)) homes.push(await world.settlePaying(store, name, 'enterprise'));
    for (const home of homes) {
      for (let made = 0; made < 100; made++) await world.addHook(store, home);
    }
    // Five customers have as many webhooks as a unit may hold; the sixth is one too many.
    await world.append(
      store,
      homes.flatMap((home) => world.deletions(home, ['a', 'b'])),
    );
    const first = await nextSpan(store.read, 0);
    assert.deepEqual([first?.until, first?.owners.length, first?.isLast], [7, 4, false]);
    const rest = await nextSpan(store.read, 2);
    assert.deepEqual([rest?.until, rest?.owners.length, rest?.isLast], [12, 5, true]);
    for (let made = 0; made < 500; made++) await world.addHook(store, homes[0]!);
    const alone = await nextSpan(store.read, 0);
    assert.deepEqual([alone?.until, alone?.owners], [1, [homes[0]!.customerId]]);
  });

  it('a history is believed until its oldest row leaves the hour, a minute at least', () => {
    const counts = new DroppedCounts();
    assert.equal(counts.capacity('h', 0), null);
    counts.remember([{ id: 'h', capacity: 5, at: 1_000, oldest: 900 }], new Map());
    assert.equal(counts.capacity('h', 3_600_899), 5);
    assert.equal(counts.capacity('h', 3_600_900), null);
    counts.subtract(
      new Map([
        ['h', 3],
        ['unknown', 1],
      ]),
    );
    assert.equal(counts.capacity('h', 1_000), 2);
    assert.equal(counts.capacity('unknown', 1_000), null);
    counts.remember([{ id: 'h', capacity: 0, at: 3_600_000, oldest: 0 }], new Map());
    assert.equal(counts.capacity('h', 3_659_999), 0);
    assert.equal(counts.capacity('h', 3_660_000), null);
    counts.remember([{ id: 'none', capacity: 7, at: 5, oldest: null }], new Map([['owner', 3]]));
    counts.check(new Map([['owner', 3]]));
    assert.equal(counts.capacity('none', 3_600_004), 7);
    assert.equal(counts.capacity('none', 3_600_005), null);
    // Another process told the customer of an event.
    counts.check(new Map([['owner', 4]]));
    assert.equal(counts.capacity('none', 5), null);
  });
});

const numberedNames = (count: number): string[] => world.numbered(count, 'customer-');
