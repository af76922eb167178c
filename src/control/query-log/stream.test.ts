import assert from 'node:assert/strict';
import type { StreamEvent } from '../../../test/support/control/query-log/event-reader.ts';
import { addRows, REFUSED } from '../../../test/support/control/query-log/log-rows.ts';
import { rowOf, withStreams } from '../../../test/support/control/query-log/stream-rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { LIMITS } from '../../base/limits.ts';

apiScenarios('query log, stream', {
  'a row arrives as the list shows it, under its id': (store) =>
    withStreams(store, async ({ world, customer, namespace, open, follows }) => {
      const reader = await open(customer);
      assert.equal(reader.status, 200);
      assert.equal(reader.headers['content-type'], 'text/event-stream; charset=utf-8');
      assert.equal(reader.headers['cache-control'], 'no-store');
      await follows(reader);
      await addRows(world, namespace.id, [{ ago: 0, durationMs: 11 }]);
      const { id, event, data } = await rowOf(reader, 11);
      const { query_logs: rows } = (await customer.get('/query_logs?limit=1')).json;
      assert.equal(event, 'message');
      assert.deepEqual(data, rows[0]);
      assert.equal(id, rows[0].id);
    }),

  'a stream shows what its credential and filters show': (store) =>
    withStreams(store, async ({ world, customer, namespace, open, follows }) => {
      const [second, other] = [await customer.namespace(), await world.customer()];
      const foreign = await other.namespace();
      const key = await customer.key({ namespaces: [second.name] });
      const all = await open(customer);
      const ofKey = await open(key);
      const refused = await open(customer, { query: `?status=refused&namespace=${namespace.name}` });
      await follows(all);
      let seen = 0;
      for (const reader of [refused, ofKey]) void reader.next().then(() => seen++);
      while (seen < 2) {
        await addRows(world, namespace.id, [{ ago: 0, durationMs: 1, ...REFUSED }]);
        await addRows(world, second.id, [{ ago: 0, durationMs: 1 }]);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await addRows(world, foreign.id, [{ ago: 0, durationMs: 5 }]);
      await addRows(world, namespace.id, [{ ago: 0, durationMs: 6 }]);
      await addRows(world, second.id, [{ ago: 0, durationMs: 7 }]);
      await addRows(world, namespace.id, [{ ago: 0, durationMs: 8, ...REFUSED }]);
      for (let last = 0; last !== 7; ) {
        const [{ data }] = (await ofKey.take(1)) as [StreamEvent];
        assert.equal(data.namespace, second.name);
        last = data.duration_ms;
      }
      const ofRefused = await rowOf(refused, 8);
      assert.equal(ofRefused.data.status, 'refused');
      const order: number[] = [];
      while (order.at(-1) !== 8) order.push((await all.take(1))[0]!.data.duration_ms);
      assert.deepEqual(
        order.filter((duration) => duration >= 5),
        [6, 7, 8],
      );
    }),

  'Last-Event-ID goes on after that row, each row once and in order; another text is refused': (store) =>
    withStreams(store, async ({ world, customer, namespace, open }) => {
      const rows = Array.from({ length: 150 }, (_, i) => ({ ago: 0, durationMs: i + 1 }));
      await addRows(world, namespace.id, rows);
      const { query_logs: newest } = (await customer.get('/query_logs?limit=100')).json;
      const after = newest.at(-1);
      assert.equal(after.duration_ms, 51);
      const reader = await open(customer, { headers: { 'last-event-id': after.id } });
      const events = await reader.take(99);
      await addRows(world, namespace.id, [{ ago: 0, durationMs: 999 }]);
      events.push(await rowOf(reader, 999));
      assert.deepEqual(
        events.map(({ data }) => data.duration_ms),
        [...Array.from({ length: 99 }, (_, i) => i + 52), 999],
      );
      for (const id of ['x', '-1', '1.5', '99999999999999999', `${after.id}, 1`]) {
        const refused = await open(customer, { headers: { 'last-event-id': id } });
        assert.equal(refused.status, 400, id);
        const body = await refused.text();
        assert.equal(body, '{"error":"Last-Event-ID is not the id of a row","code":"validation_error"}');
      }
    }),

  'above 200 rows a second the rest is skipped, and an event has their number': (store) =>
    withStreams(store, async ({ world, customer, namespace, open, follows }) => {
      const reader = await open(customer);
      await follows(reader);
      const rows = Array.from({ length: 700 }, () => ({ ago: 0, durationMs: 5 }));
      await addRows(world, namespace.id, rows);
      let [sent, skipped] = [0, 0];
      while (sent + skipped < 700) {
        const [event] = await reader.take(1);
        if (event!.event === 'skipped') skipped += event!.data.count;
        else if (event!.data.duration_ms === 5) sent++;
      }
      assert.ok(sent <= 2 * LIMITS.queryLogStreamRows, String(sent));
      assert.equal(sent + skipped, 700);
    }),

  'a customer has three streams; another is 429 until one has ended; others are not affected': (store) =>
    withStreams(store, async ({ world, customer, open }) => {
      const readers = [];
      for (let i = 0; i < LIMITS.queryLogStreamsPerCustomer; i++) readers.push(await open(customer));
      const refused = await open(customer);
      assert.equal(refused.status, 429);
      assert.equal(refused.headers['retry-after'], '10');
      assert.match(await refused.text(), /"code":"rate_limit_exceeded"/);
      assert.equal((await open(await world.customer())).status, 200);
      readers[0]!.close();
      for (;;) {
        const reader = await open(customer);
        if (reader.status === 200) break;
        reader.close();
      }
      assert.equal((await customer.send('HEAD', '/query_logs/stream')).status, 200);
    }),

  'a stream ends with its session, with its key, and with the time of either': (store) =>
    withStreams(store, async ({ world, customer, open, follows }) => {
      const session = await world.signIn(customer);
      const [key, ending] = [
        await customer.key(),
        await customer.key({}, { expires_at: new Date(world.now() + 60_000).toISOString() }),
      ];
      const ofSession = await open(session);
      await follows(ofSession);
      assert.equal((await session.del('/auth/session')).status, 204);
      await ofSession.ended();
      const ofKey = await open(key);
      await follows(ofKey);
      assert.equal((await customer.del(`/api_keys/${key.id}`)).status, 204);
      await ofKey.ended();
      const [ofEnding, kept] = [await open(ending), await open(customer)];
      await follows(kept);
      world.advance(60_000);
      await ofEnding.ended();
      await follows(kept);
      world.advance(12 * 3_600_000);
      await kept.ended();
      assert.equal((await open(session)).status, 401);
    }),

  'a namespace that is closed sends nothing more, and a new one sends at once': (store) =>
    withStreams(store, async ({ world, customer, namespace, open, follows }) => {
      const reader = await open(customer);
      await follows(reader);
      const later = await customer.namespace();
      await addRows(world, later.id, [{ ago: 0, durationMs: 21 }]);
      assert.equal((await rowOf(reader, 21)).data.namespace, later.name);
      assert.equal((await customer.del(`/namespaces/${namespace.id}`)).status, 204);
      await addRows(world, namespace.id, [{ ago: 0, durationMs: 22 }]);
      await addRows(world, later.id, [{ ago: 0, durationMs: 23 }]);
      const seen = [];
      while (seen.at(-1) !== 23) seen.push((await reader.take(1))[0]!.data.duration_ms);
      assert.ok(!seen.includes(22));
    }),

  'the server stops although streams are open, and ends them': (store) =>
    withStreams(store, async ({ world, customer, open, follows }) => {
      const reader = await open(customer);
      await follows(reader);
      await Promise.all([world.app.close(), reader.ended()]);
    }),
});
