import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import {
  ALL_FLAGS,
  askFlags,
  base64,
  flagShop,
  plainFlag,
} from '../../../test/support/control/flags/asking.ts';
import {
  type EventReader,
  listen,
  openEvents,
  type StreamEvent,
} from '../../../test/support/control/query-log/event-reader.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { openWorld, type World } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { sweepExpired } from '../records/expiry.ts';

const DAY = 86_400_000;

/** The URL of the stream as the answer with all flags has it. */
async function eventsAt(world: World, token: string, base = ''): Promise<string> {
  const { json, text } = await askFlags(world, token, `${base}${ALL_FLAGS}`);
  assert.ok(json.eventStreams, text);
  const [{ type, endpoint, inactivityDelaySec }] = json.eventStreams;
  assert.deepEqual([type, inactivityDelaySec], ['sse', 120]);
  return endpoint.requestUri;
}

const follow = (port: number, path: string, headers: Record<string, string> = {}): Promise<EventReader> =>
  openEvents(port, null, { base: '', path, headers });

/** The next event that is no checkpoint. */
async function told(reader: EventReader): Promise<StreamEvent> {
  for (;;) {
    const [event] = await reader.take(1);
    if (event!.event !== 'checkpoint') return event!;
  }
}

apiScenarios('events of flags', {
  'a commit that touches a flag is told at once, then once a second, the last always': async (store) => {
    const world = await openWorld(store);
    const port = await listen(world);
    const { owner, name, token, change } = await flagShop(world, { a: plainFlag(1) });
    const reader = await follow(port, await eventsAt(world, token));
    assert.deepEqual(
      [reader.status, reader.headers['content-type'], reader.headers['access-control-allow-origin']],
      [200, 'text/event-stream; charset=utf-8', '*'],
    );
    const [begin] = await reader.take(1);
    assert.equal(begin!.data.type, 'refetchEvaluation');
    const changed = performance.now();
    await change('a', plainFlag(2));
    const first = await told(reader);
    assert.deepEqual(Object.keys(first.data), ['type', 'etag', 'lastModified']);
    assert.deepEqual([first.event, first.data.type], ['message', 'refetchEvaluation']);
    assert.equal(first.data.lastModified, Math.floor(world.now() / 1000));
    // What is no flag of the namespace is not told.
    await owner.record(`x.other.${name}.v1`);
    for (let round = 3; round < 10; round++) await change('a', plainFlag(round));
    const second = await told(reader);
    assert.ok(performance.now() - changed > LIMITS.flagEventMs - 50, 'the second event came too soon');
    const asked = await askFlags(world, token, `${ALL_FLAGS}?flagConfigEtag=${second.data.etag}`);
    assert.equal(asked.json.flags[0].value, 9);
    assert.notEqual(first.data.etag, second.data.etag);
    // Nothing is waited for: the state of the first event is past. The other was never there.
    const order: string[] = [];
    const asks = ['nothing-has-this', first.data.etag].map(async (tag) => {
      await askFlags(world, token, `${ALL_FLAGS}?flagConfigEtag=${tag}&flagConfigLastModified=1`);
      order.push(tag);
    });
    await Promise.all(asks);
    assert.deepEqual(order, [first.data.etag, 'nothing-has-this']);
    reader.close();
    await world.close();
  },

  'an evaluation waits for the state that it names': async (store) => {
    const [world, other] = [await openWorld(store), await openWorld(store)];
    const { token, change } = await flagShop(world, { a: plainFlag(1) });
    const value = async (of: World, tag: string): Promise<unknown> =>
      (await askFlags(of, token, `${ALL_FLAGS}?flagConfigEtag=${tag}`)).json.flags[0].value;
    assert.equal(await value(other, ''), 1);
    const port = await listen(world);
    const reader = await follow(port, await eventsAt(world, token));
    await reader.take(1);
    await change('a', plainFlag(2));
    const { data } = await told(reader);
    assert.equal(await value(other, data.etag), 2);
    const began = performance.now();
    assert.equal(await value(world, 'nothing-has-this'), 2);
    assert.ok(performance.now() - began > LIMITS.flagWaitMs - 50);
    reader.close();
    await Promise.all([world.close(), other.close()]);
  },

  'Last-Event-ID goes on, on another process too: a change since is told, and nothing else': async (
    store,
  ) => {
    const [world, second] = [await openWorld(store), await openWorld(store)];
    const [port, other] = [await listen(world), await listen(second)];
    const { token, change } = await flagShop(world, { a: plainFlag(1) });
    const at = await eventsAt(world, token);
    const reader = await follow(port, at);
    const [begin] = await reader.take(1);
    reader.close();
    await change('a', plainFlag(2));
    const readers = [await follow(port, at, { 'last-event-id': begin!.id! })];
    const [missed] = await readers[0]!.take(1);
    assert.equal(missed!.data.type, 'refetchEvaluation');
    readers.push(await follow(port, at, { 'last-event-id': missed!.id! }));
    assert.equal((await readers[1]!.take(1))[0]!.event, 'checkpoint');
    readers.push(await follow(other, at, { 'last-event-id': begin!.id! }));
    assert.equal((await readers[2]!.take(1))[0]!.data.type, 'refetchEvaluation');
    readers.push(await follow(other, at, { 'last-event-id': 'x' }));
    assert.equal((await readers[3]!.take(1))[0]!.data.type, 'refetchEvaluation');
    for (const one of readers) one.close();
    await Promise.all([world.close(), second.close()]);
  },

  'a stream without Last-Event-ID begins with an event: a change since the answer is told, on another process and however late':
    async (store) => {
      const [world, second] = [await openWorld(store), await openWorld(store)];
      const [port, other] = [await listen(world), await listen(second)];
      const { token, change } = await flagShop(world, { a: plainFlag(1) });
      const at = await eventsAt(world, token);
      await change('a', plainFlag(2));
      world.advance(60_000);
      for (const [of, portOf] of [
        [world, port],
        [second, other],
      ] as const) {
        const reader = await follow(portOf, at);
        const [event] = await reader.take(1);
        assert.equal(event!.data.type, 'refetchEvaluation');
        const asked = await askFlags(of, token, `${ALL_FLAGS}?flagConfigEtag=${event!.data.etag}`);
        assert.equal(asked.json.flags[0].value, 2);
        const again = await follow(portOf, at, { 'last-event-id': event!.id! });
        assert.equal((await again.take(1))[0]!.event, 'checkpoint', 'it is told once');
        for (const one of [reader, again]) one.close();
      }
      await Promise.all([world.close(), second.close()]);
    },

  'a new flag, an expiry and a deletion are told': async (store) => {
    const world = await openWorld(store);
    const port = await listen(world);
    const { owner, name, token } = await flagShop(world);
    const reader = await follow(port, `/flags/${name}/ofrep/v1/events`, { authorization: `Bearer ${token}` });
    await reader.take(1);
    await owner.record(`late.flags.${name}.v1`, { data: base64(plainFlag(1)), expires_in: 60 });
    const made = await told(reader);
    world.advance(60_001);
    await sweepExpired(store, world.now(), 500);
    const expired = await told(reader);
    assert.notEqual(made.data.etag, expired.data.etag);
    const { id } = await owner.record(`gone.flags.${name}.v1`, { data: base64(plainFlag(1)) });
    await told(reader);
    await owner.del(`/records/${id}`);
    assert.equal((await told(reader)).data.etag, expired.data.etag);
    reader.close();
    await world.close();
  },

  'a ticket is the same all day, opens the stream alone, and ends on the day after the next': async (
    store,
  ) => {
    const world = await openWorld(store);
    const port = await listen(world);
    const { token, tokenId, id, owner, name } = await flagShop(world, { a: plainFlag(1) });
    const key = await owner.key({ operations: ['read'], namespaces: [name] });
    const first = await eventsAt(world, token);
    const [, ticket] = /^\/ofrep\/v1\/events\?t=([\w-]{32})$/.exec(first)!;
    world.advance(DAY - 1);
    assert.equal(await eventsAt(world, token), first);
    assert.notEqual(await eventsAt(world, key.token), first);
    assert.equal(
      await eventsAt(world, key.token, `/flags/${name}`),
      `/flags/${name}${await eventsAt(world, key.token)}`,
    );
    for (const credential of [ticket!, `svcq${ticket}`])
      assert.equal((await askFlags(world, credential, ALL_FLAGS)).status, 401);
    world.advance(DAY);
    const reader = await follow(port, first);
    const renewed = await eventsAt(world, token);
    assert.notEqual(renewed, first);
    assert.equal(reader.status, 200);
    // Octets of the digest, and of the HMAC.
    for (const i of [0, 15, 31]) {
      const other = ticket![i] === 'A' ? 'B' : 'A';
      const path = `/ofrep/v1/events?t=${ticket!.slice(0, i)}${other}${ticket!.slice(i + 1)}`;
      assert.deepEqual([(await follow(port, path)).status, path.length], [401, first.length]);
    }
    world.advance(1);
    const refused = await follow(port, first);
    assert.deepEqual([refused.status, await refused.text()], [401, '{}']);
    const again = await world.signIn(owner);
    assert.equal((await again.del(`/namespaces/${id}/query_tokens/${tokenId}`)).status, 204);
    await reader.ended();
    assert.equal((await follow(port, renewed)).status, 401);
    await world.close();
  },

  'so many streams of a namespace and of the process are open; one of the customer with most gives way':
    async (store) => {
      if (store.engine === 'postgres') return;
      const world = await openWorld(store, { trustedProxies: ['127.0.0.1'] });
      const port = await listen(world);
      const shops = [await flagShop(world), await flagShop(world)];
      const { owner } = shops[0]!;
      const next = await owner.namespace();
      const { json } = await owner.post(`/namespaces/${next.id}/query_tokens`, { name: 'web' });
      const tokens = [shops[0]!.token, String(json.token), shops[1]!.token];
      const readers: EventReader[] = [];
      const open = async (shop: number): Promise<number> => {
        const address = `192.0.2.${Math.floor(readers.length / LIMITS.flagStreamsPerAddress)}`;
        const headers = { authorization: `Bearer ${tokens[shop]}`, 'x-forwarded-for': address };
        const reader = await follow(port, '/ofrep/v1/events', headers);
        if (reader.status === 200) readers.push(reader);
        return reader.status;
      };
      for (let i = 0; i < LIMITS.flagStreamsOfNamespace; i++) assert.equal(await open(0), 200);
      assert.deepEqual([await open(0), await open(1)], [429, 200]);
      while (readers.length < LIMITS.flagStreams) assert.equal(await open(1), 200);
      // One customer has all of them: a stream of it ends for each of the other, which then keeps its own.
      const first = readers.length;
      for (let i = 0; i < 3; i++) assert.equal(await open(2), 200);
      let ended = 0;
      for (const reader of readers.slice(0, first))
        void reader.ended().then(
          () => ended++,
          () => ended++,
        );
      while (ended < 3) await nextTurn();
      assert.deepEqual([await open(1), readers.length], [429, first + 3]);
      for (const reader of readers) reader.close();
      await world.close();
    },

  'so many evaluations wait, and one more is answered at once': async (store) => {
    const timers = createManualTimers();
    const world = await openWorld(store, { timers });
    const { token } = await flagShop(world);
    let answered = 0;
    const ask = (): Promise<unknown> =>
      askFlags(world, token, `${ALL_FLAGS}?flagConfigEtag=nothing-has-this`).then(() => answered++);
    const before = timers.pending().length;
    const waits = Array.from({ length: LIMITS.flagWaits }, ask);
    while (timers.pending().length - before < LIMITS.flagWaits) await nextTurn();
    await ask();
    await timers.advance(LIMITS.flagWaitMs - 1);
    assert.equal(answered, 1);
    await timers.advance(1);
    await Promise.all(waits);
    await world.close();
  },

  'so many streams of an address are open; each ends with its namespace or key': async (store) => {
    const world = await openWorld(store);
    const port = await listen(world);
    const { owner, id, name } = await flagShop(world);
    const key = await owner.key({ operations: ['read'], namespaces: [name] });
    const path = `/flags/${name}/ofrep/v1/events`;
    const headers = { 'x-api-key': key.token };
    const readers: EventReader[] = [];
    for (let i = 0; i < LIMITS.flagStreamsPerAddress; i++) readers.push(await follow(port, path, headers));
    const refused = await follow(port, path, headers);
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '10']);
    readers[0]!.close();
    let again = await follow(port, path, headers);
    while (again.status === 429) again = await follow(port, path, headers);
    assert.equal(again.status, 200);
    await owner.del(`/api_keys/${key.id}`);
    await Promise.all([again, ...readers.slice(1)].map((reader) => reader.ended()));
    const other = await owner.key({ operations: ['read'], namespaces: [name] });
    const last = await follow(port, path, { 'x-api-key': other.token });
    assert.equal(last.status, 200);
    await owner.del(`/namespaces/${id}`);
    await last.ended();
    await world.close();
  },
});
