import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { queryLogRow } from '../../../test/support/feed/ports/query-log-suite.ts';
import { type Home, settle, withStore } from '../../../test/support/store/fixtures.ts';
import { sqliteDatabase } from '../../../test/support/store/sqlite.ts';
import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Actor } from '../../http/actor.ts';
import { queryLogSink } from '../../store/query-log/add-rows.ts';
import type { Db, Store } from '../../store/store.ts';
import { openEventStreams, type StreamClient } from '../live/streams.ts';
import { type LogRequest, openLogSenders } from './log-streams.ts';

const NOW = Date.UTC(2026, 0, 1);
const BATCH = 2_000;

/** The streams of a process, as the route opens them. */
function openLogStreams(store: Store, timers: Timers) {
  const onError = (error: unknown): void => assert.fail(String(error));
  const senders = openLogSenders({ store, timers: backgroundTimers, onError });
  const streams = openEventStreams({ store, timers, onError });
  return {
    open: (client: LogClient) => streams.open({ ...client, sender: senders.sender(client, client.output) }),
    async close() {
      await streams.close();
      await senders.close();
    },
  };
}

/** A client that reads at once; `text` resolves when a text was written that has `part`. */
type LogClient = Omit<StreamClient, 'sender'> & LogRequest;

function clientOf(customerId: string, more: Partial<LogClient> = {}) {
  const actor: Actor = {
    customerId,
    userId: customerId,
    personId: customerId,
    sessionId: 's',
    role: null,
    tier: 'free',
    via: 'session',
    apiKey: null,
    requestId: null,
    operations: new Set(['read']),
    namespaces: null,
  };
  const written: string[] = [];
  const waiting = new Map<string, () => void>();
  const client: LogClient = {
    actor,
    filter: { namespace: null, status: null },
    after: null,
    output: {
      write(text) {
        written.push(text);
        for (const [part, resolve] of waiting) if (text.includes(part)) resolve();
        return true;
      },
      isReady: () => true,
      cutOff: () => assert.fail('cut off'),
    },
    renew: async () => true,
    end: () => {},
    ...more,
  };
  const text = (part: string): Promise<void> =>
    new Promise((resolve) => {
      if (written.some((one) => one.includes(part))) resolve();
      else waiting.set(part, resolve);
    });
  return { client, written, text };
}

/** A store whose reads of a text that has `part` wait until they are released, from the time when they are held. */
function holding(store: Store, part: string) {
  let held: PromiseWithResolvers<void> | null = null;
  let onWaiting = (): void => {};
  const read: Db = {
    ...store.read,
    async execute(sql, values) {
      if (held !== null && sql.includes(part)) {
        onWaiting();
        await held.promise;
      }
      return store.read.execute(sql, values);
    },
  };
  return {
    store: { ...store, read },
    /** @returns resolves when a read waits */
    hold: (): Promise<void> => {
      held = Promise.withResolvers();
      return new Promise((resolve) => {
        onWaiting = resolve;
      });
    },
    release: (): void => {
      held?.resolve();
      held = null;
    },
  };
}

/** Adds a batch of equal rows of a namespace. */
function adderOf(store: Store) {
  const sink = queryLogSink(store, () => NOW);
  let batches = 0;
  return ({ namespaceId }: Home, count: number, durationMs: number): Promise<void> => {
    const rows = Array.from({ length: count }, () => queryLogRow(namespaceId, NOW, { durationMs }));
    return sink.add({ node: 'node1', batch: `batch-${batches++}`, rows, dropped: [] });
  };
}

describe('open streams of the query log', () => {
  it('go on each second while checks of credentials never end (finding 0 of the review of the tests)', () =>
    withStore(sqliteDatabase, async (store) => {
      const home = await settle(store);
      const timers = createManualTimers();
      const streams = openLogStreams(store, timers);
      let checks = 0;
      const never = Promise.withResolvers<boolean>();
      const { client, written, text } = clientOf(home.customerId, {
        renew: () => (++checks === 1 ? Promise.resolve(true) : never.promise),
      });
      const stop = streams.open(client);
      const add = adderOf(store);
      // Rows that come before the stream follows the log are not its own.
      while (written.length === 0) await add(home, 1, 0);
      await timers.advance(1_000);
      assert.equal(checks, 2, 'a check is under way');
      await add(home, LIMITS.queryLogStreamRows, 1);
      await add(home, 1, 2);
      await text('"duration_ms":1');
      await timers.advance(2_000);
      await add(home, 1, 3);
      await text('"duration_ms":3');
      await timers.advance(15_000);
      assert.ok(written.includes(': keep-alive\n\n'));
      assert.equal(checks, 2, 'one check at a time');
      never.resolve(true);
      stop();
      await streams.close();
    }));

  it('that go on while the reader is a batch behind get each row once, and hear of no gap', () =>
    withStore(sqliteDatabase, async (real) => {
      const home = await settle(real);
      const { store, hold, release } = holding(real, 'from query_log_head');
      const timers = createManualTimers();
      const streams = openLogStreams(store, timers);
      const add = adderOf(store);
      const first = clientOf(home.customerId);
      const stops = [streams.open(first.client)];
      while (first.written.length === 0) await add(home, 1, 0);
      await add(home, 1, 1);
      await first.text('"duration_ms":1');
      const after = Number(/id: (\d+)/.exec(first.written.at(-1)!)![1]);
      const busy = await settle(real, 'busy');
      for (let rows = 0; rows < LIMITS.queryLogResumeRows - 1; rows += BATCH) {
        await add(busy, Math.min(BATCH, LIMITS.queryLogResumeRows - 1 - rows), 1);
      }
      await add(home, 1, 2);
      await first.text('"duration_ms":2');
      // One row more is stored, and the reader does not know of it yet.
      const isHeld = hold();
      await add(home, 1, 3);
      await isHeld;
      const second = clientOf(home.customerId, { after });
      stops.push(streams.open(second.client));
      await timers.advance(0);
      release();
      await second.text('"duration_ms":3');
      assert.deepEqual(
        second.written.map((text) => /"duration_ms":\d|skipped/.exec(text)?.[0]),
        ['"duration_ms":2', '"duration_ms":3'],
      );
      for (const stop of stops) stop();
      await streams.close();
    }));
});
