import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import {
  addCustomer,
  addWebhook,
  enqueue,
  NO_ENCRYPTION,
} from '../../test/support/control/webhooks/dispatch-world.ts';
import { putRecord, settle } from '../../test/support/store/fixtures.ts';
import { findRows } from '../../test/support/store/rows.ts';
import { nextTurn } from '../base/lifecycle/timers.ts';
import { closeNamespace } from '../store/namespaces.ts';
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { QUIET_MS } from '../store/store-loop.ts';
import { startDeletions } from './namespaces/deletion.ts';
import { startSweeper } from './records/expiry.ts';
import { startDispatcher } from './webhooks/dispatcher.ts';

const NOW = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A store that tells nobody of a commit. */
function deafened(store: Store): Store {
  const never = () => () => {};
  return { ...store, onWork: never, onCommit: never, changes: { ...store.changes, onChange: never } };
}

/** Every loop of a control process that finds work in the store, over one that tells of none. */
async function world() {
  const folder = await mkdtemp(join(tmpdir(), 'uqrp-lost-'));
  const timers = createManualTimers();
  let step = 0;
  const clock = (): number => NOW + timers.now + step;
  const store = await openSqliteStore({ file: join(folder, 'x.sqlite'), clock, timers });
  const ending = new AbortController();
  const sent: number[] = [];
  const onError = (error: unknown): void => assert.fail(String(error));
  const common = { store: deafened(store), clock, timers, signal: ending.signal, onError };
  let ids = 0;
  const loops = [
    startSweeper(common),
    startDeletions(common),
    startDispatcher({
      ...common,
      newId: () => `claim ${++ids}`,
      random: () => 0,
      encryption: NO_ENCRYPTION,
      schedule: [0],
      async sendAttempt() {
        sent.push(timers.now);
        return { error: null, responseCode: 204, durationMs: 1, retryAfter: null };
      },
    }).stopped,
  ];
  return {
    store,
    clock,
    sent,
    /** The time of day is set to another one; monotonic time goes on. */
    setClock(ms: number) {
      step += ms;
    },
    async advance(ms: number) {
      await timers.advance(ms);
      for (let turn = 0; turn < 50; turn++) await nextTurn();
    },
    keys: async () => (await findRows(store.read, 'records', { columns: ['key'] })).map(({ key }) => key),
    async close() {
      ending.abort();
      await Promise.all(loops);
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

type World = Awaited<ReturnType<typeof world>>;

describe('loops over the store', () => {
  const scenario = (title: string, run: (at: World) => Promise<void>): void => {
    it(title, async () => {
      const at = await world();
      try {
        await run(at);
      } finally {
        await at.close();
      }
    });
  };

  scenario('find by themselves what no wake-up told of, each within its poll', async (at) => {
    await at.advance(QUIET_MS);
    const home = await settle(at.store, 'acme');
    const gone = await settle(at.store, 'gone');
    const hook = await addWebhook(at.store, await addCustomer(at.store, 'hooks'));
    await at.store.write((tx) => putRecord(tx, home, 'due', { expires_at: at.clock() + 1 }));
    await at.store.write((tx) => putRecord(tx, gone, 'kept'));
    await at.store.write((tx) => closeNamespace(tx, gone.namespaceId, at.clock()));
    await enqueue(at.store, hook, 1, at.clock());
    assert.deepEqual(at.sent, []);
    await at.advance(QUIET_MS);
    // Pauses between two units of a deletion.
    await at.advance(1_000);
    assert.deepEqual(await at.keys(), []);
    assert.equal(at.sent.length, 1);
    assert.ok(at.sent[0]! <= 2 * QUIET_MS);
  });

  scenario('find within a poll what is due since the clock was set forward by a day', async (at) => {
    const home = await settle(at.store, 'acme');
    const hook = await addWebhook(at.store, await addCustomer(at.store, 'hooks'));
    await at.store.write((tx) => putRecord(tx, home, 'due', { expires_at: at.clock() + DAY / 2 }));
    await enqueue(at.store, hook, 1, at.clock() + DAY / 2);
    await at.advance(2 * QUIET_MS);
    assert.deepEqual([await at.keys(), at.sent], [['due.doc.acme.v1'], []]);
    at.setClock(DAY);
    await at.advance(QUIET_MS);
    await at.advance(1_000);
    assert.deepEqual([await at.keys(), at.sent.length], [[], 1]);
  });

  scenario('do nothing early, and nothing twice, when the clock was set back by an hour', async (at) => {
    const home = await settle(at.store, 'acme');
    const hook = await addWebhook(at.store, await addCustomer(at.store, 'hooks'));
    await at.store.write((tx) => putRecord(tx, home, 'due', { expires_at: at.clock() + HOUR / 2 }));
    await enqueue(at.store, hook, 1, at.clock() + HOUR / 2);
    await enqueue(at.store, hook, 1, at.clock(), { seq: 2 });
    await at.advance(2 * QUIET_MS);
    at.setClock(-HOUR);
    await at.advance(HOUR / 2);
    assert.deepEqual(await at.keys(), ['due.doc.acme.v1']);
    const before = at.sent.length;
    await at.advance(HOUR + QUIET_MS);
    await at.advance(QUIET_MS);
    assert.deepEqual(await at.keys(), []);
    assert.ok(before <= 1);
    assert.equal(at.sent.length, 2);
  });
});
