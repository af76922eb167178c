import assert from 'node:assert/strict';
import { askChanges, presentEnd, seqOf } from '../../../test/support/control/changes/asking.ts';
import {
  type EventReader,
  listen,
  openEvents,
} from '../../../test/support/control/query-log/event-reader.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Caller, type Json, openWorld } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { renewEpoch } from '../../store/service-facts.ts';

apiScenarios('changes, stream', {
  'a change arrives as the page shows it, and Last-Event-ID goes on after it, on another process too': async (
    store,
  ) => {
    const [world, second] = [await openWorld(store), await openWorld(store)];
    const readers: EventReader[] = [];
    const open = async (
      port: number,
      caller: Caller,
      more: { query?: string; headers?: Record<string, string> } = {},
    ): Promise<EventReader> => {
      const reader = await openEvents(port, caller, { path: '/changes/stream', ...more });
      readers.push(reader);
      return reader;
    };
    try {
      const ports = [await listen(world), await listen(second)] as const;
      const owner = await world.customer();
      const { name } = await owner.namespace();
      const since = await presentEnd(owner);
      const reader = await open(ports[0], owner, { query: `?since=${since}` });
      assert.equal(reader.headers['content-type'], 'text/event-stream; charset=utf-8');
      await owner.record(`a.r.${name}.v1`);
      await owner.record(`b.r.${name}.v1`);
      const events = await reader.take(2);
      const page = (await askChanges(owner, `?since=${since}`)).changes;
      const place = (cursor: string) => world.deps.positions.read(owner.id, cursor);
      const bare = (change: Json): unknown => ({ ...change, cursor: null });
      assert.deepEqual(
        events.map(({ data }) => bare(data)),
        page.map(bare),
      );
      assert.deepEqual(
        events.map(({ id }) => place(id!)),
        page.map(({ cursor }: Json) => place(cursor)),
      );
      const resumed = await open(ports[1], owner, {
        query: '?since=x',
        headers: { 'last-event-id': events[0]!.id! },
      });
      const [again] = await resumed.take(1);
      assert.deepEqual(bare(again!.data), bare(events[1]!.data));
      // A change that is not shown moves the cursor of the reader all the same.
      const hidden = await open(ports[0], owner, { query: `?since=${events[1]!.id}&namespace=nothing-here` });
      await owner.record(`c.r.${name}.v1`);
      const head = place(
        seqOf(await owner.post('/records', { record: { key: `d.r.${name}.v1`, data: '' } })),
      );
      for (let seq = 0; seq < head!.seq; ) {
        const [checkpoint] = await hidden.take(1);
        assert.deepEqual([checkpoint!.event, checkpoint!.data], ['checkpoint', {}]);
        seq = place(checkpoint!.id!)!.seq;
      }
      const bad = await open(ports[0], owner, { query: '?since=x' });
      assert.deepEqual(
        [bad.status, JSON.parse(await bad.text()).error],
        [400, 'since is not a cursor of this account'],
      );
    } finally {
      for (const reader of readers) reader.close();
      await Promise.all([world.close(), second.close()]);
    }
  },

  'a place that is lost is told as a reset, and the stream goes on from the present end': async (store) => {
    const world = await openWorld(store);
    const port = await listen(world);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const position = world.deps.positions.read(owner.id, await presentEnd(owner))!;
    const past = world.deps.positions.text(owner.id, { ...position, seq: position.seq + 100_000 });
    const reader = await openEvents(port, owner, { path: '/changes/stream', query: `?since=${past}` });
    const [reset] = await reader.take(1);
    assert.deepEqual([reset!.event, reset!.data.reason], ['reset', 'other_store']);
    assert.equal(reset!.data.cursor, reset!.id);
    await owner.record(`a.r.${name}.v1`);
    for (;;) {
      const [event] = await reader.take(1);
      if (event!.event === 'checkpoint') continue;
      assert.equal(event!.data.key, `a.r.${name}.v1`);
      break;
    }
    reader.close();
    await world.close();
  },

  'a live stream is reset when the log gets a later epoch, also where that log has gone past its place':
    async (store) => {
      const world = await openWorld(store);
      const port = await listen(world);
      const owner = await world.customer();
      const { name } = await owner.namespace();
      const since = await presentEnd(owner);
      const reader = await openEvents(port, owner, { path: '/changes/stream', query: `?since=${since}` });
      const next = async (): Promise<Awaited<ReturnType<EventReader['take']>>[0]> => {
        for (;;) {
          const [event] = await reader.take(1);
          if (event!.event !== 'checkpoint') return event!;
        }
      };
      await owner.record(`a.r.${name}.v1`);
      assert.equal((await next()).data.key, `a.r.${name}.v1`);
      await store.write((tx) => renewEpoch(tx, Date.now()));
      await owner.record(`b.r.${name}.v1`);
      const reset = await next();
      assert.deepEqual([reset.event, reset.data.reason], ['reset', 'other_store']);
      await owner.record(`c.r.${name}.v1`);
      for (let key = ''; key !== `c.r.${name}.v1`; ) key = (await next()).data.key;
      reader.close();
      await world.close();
    },

  'a fourth stream of a person is refused; a stream ends with its key': async (store) => {
    const world = await openWorld(store);
    const port = await listen(world);
    const owner = await world.customer();
    const key = await owner.key({});
    const path = '/changes/stream';
    const readers: EventReader[] = [];
    for (let i = 0; i < LIMITS.changeStreamsPerCustomer; i++)
      readers.push(await openEvents(port, key, { path }));
    const refused = await openEvents(port, owner, { path });
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '10']);
    await owner.del(`/api_keys/${key.id}`);
    await Promise.all(readers.map((reader) => reader.ended()));
    assert.ok(readers.every((reader) => reader.isWhole()));
    await world.close();
  },

  'a stream that was far behind, and is told of more than it may send, gets each change once': async (
    store,
  ) => {
    const world = await openWorld(store);
    const port = await listen(world);
    const owner = await world.customer('pro');
    const { name } = await owner.namespace();
    const since = await presentEnd(owner);
    let count = 0;
    const write = async (): Promise<void> => {
      const records = Array.from({ length: 500 }, () => ({ key: `k${count++}.r.${name}.v1`, data: '' }));
      const answer = await owner.post('/records/bulk', { records });
      assert.equal(answer.status, 200, answer.text);
    };
    await write();
    await write();
    const reader = await openEvents(port, owner, { path: '/changes/stream', query: `?since=${since}` });
    const writing = (async () => {
      for (let i = 0; i < 4; i++) await write();
    })();
    const keys: string[] = [];
    while (keys.length < 3_000) {
      const [event] = await reader.take(1);
      if (event!.event === 'message') keys.push(event!.data.key);
    }
    await writing;
    assert.deepEqual(
      keys,
      Array.from({ length: 3_000 }, (_, i) => `k${i}.r.${name}.v1`),
    );
    reader.close();
    await world.close();
  },
});
