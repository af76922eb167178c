import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { codeFor, newEmail, verify } from '../../../test/support/control/accounts/sign-in-rig.ts';
import { actFor, newMember, newOrganization } from '../../../test/support/control/organizations/rig.ts';
import type { EventReader } from '../../../test/support/control/query-log/event-reader.ts';
import { addRows } from '../../../test/support/control/query-log/log-rows.ts';
import { rowOf, withStreams } from '../../../test/support/control/query-log/stream-rig.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { created, PUBLIC_URL } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { revokeSessions } from '../../store/accounts.ts';

apiScenarios('query log, ends of streams', {
  'a session cookie opens a stream from our own pages alone, and signing out ends it': (store) =>
    withStreams(store, async ({ world, open }) => {
      const email = newEmail();
      const { headers } = await verify(world, email, await codeFor(world, email), { cookie: true });
      const cookie = String(headers['set-cookie']).split(';')[0]!;
      const own = { 'sec-fetch-site': 'same-origin', origin: PUBLIC_URL };
      for (const site of ['cross-site', 'same-site', '']) {
        const refused = await open(null, { headers: { cookie, 'sec-fetch-site': site } });
        assert.equal(refused.status, 401, site);
        assert.equal(
          await refused.text(),
          '{"error":"Credentials are missing","code":"authentication_error"}',
        );
      }
      const twice = await open(null, { headers: { cookie: `${cookie}; ${cookie}`, ...own } });
      assert.equal(twice.status, 401);
      // A browser that opens an EventSource, and a program, which sends no such header.
      const readers = [
        await open(null, { headers: { cookie, 'sec-fetch-site': 'same-origin' } }),
        await open(null, { headers: { cookie } }),
      ];
      for (const reader of readers) {
        assert.equal(reader.status, 200);
        assert.equal(reader.headers['access-control-allow-origin'], undefined);
      }
      const out = await world.caller(null).send('DELETE', '/auth/session', undefined, { cookie, ...own });
      assert.equal(out.status, 204);
      for (const reader of readers) await reader.ended();
      assert.equal((await open(null, { headers: { cookie } })).status, 401);
    }),

  'the deletion of an account ends the streams of its sessions and keys, and no others': (store) =>
    withStreams(store, async ({ world, customer: other, open, follows }) => {
      const customer = await world.customer();
      const readers = [await open(customer), await open(await customer.key())];
      const kept = await open(other);
      assert.equal((await customer.send('DELETE', '/me', { email: customer.email })).status, 204);
      for (const reader of readers) await reader.ended();
      await follows(kept);
    }),

  'a member who is removed, who leaves or who switches, and the end of an organization, end its streams': (
    store,
  ) =>
    withStreams(store, async ({ world, open }) => {
      const organization = await newOrganization(world);
      const { asOwner, owner, path, id } = organization;
      const [removed, leaving, switching] = [
        await newMember(world, organization),
        await newMember(world, organization),
        await newMember(world, organization),
      ];
      const namespace = created(await asOwner.post('/namespaces', { namespace: { name: `n${Date.now()}` } }));
      const ofOwner = await open(asOwner);
      const ofOwnAccount = await open(removed.person);
      const ends = async (session: { token: string }, act: () => Promise<unknown>): Promise<void> => {
        const reader = await open(session);
        assert.equal(reader.status, 200);
        await act();
        await reader.ended();
        reader.close();
        await untilRow(ofOwner, namespace.id);
      };
      const untilRow = async (reader: EventReader, namespaceId: string): Promise<void> => {
        const next = reader.next();
        let seen = false;
        void next.then(() => {
          seen = true;
        });
        while (!seen) {
          await addRows(world, namespaceId, [{ ago: 0 }]);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        assert.notEqual(await next, null);
      };
      await ends(removed.session, () => owner.del(`${path}/members/${removed.person.id}`));
      await ends(leaving.session, () => leaving.person.del(`${path}/members/${leaving.person.id}`));
      await ends(switching.session, () => actFor(switching.session, null));
      assert.equal((await open(switching.session)).status, 200);
      assert.equal((await owner.del(`/organizations/${id}`)).status, 204);
      await ofOwner.ended();
      const own = await removed.person.namespace();
      await untilRow(ofOwnAccount, own.id);
    }),

  'a session that ended after the request was let in gets no row': (store) =>
    withStreams(
      store,
      async ({ world, customer, namespace, open }) => {
        const reader = await open(await world.signIn(customer), { headers: { 'x-test-end': 'yes' } });
        assert.equal(reader.status, 200);
        let hasEnded = false;
        const end = reader.next().then((event) => {
          hasEnded = true;
          assert.equal(event, null);
        });
        while (!hasEnded) await addRows(world, namespace.id, [{ ago: 0 }]);
        await end;
      },
      ({ app, store: own, now }) =>
        app.addHook('preHandler', async (request) => {
          const { userId } = request.actor ?? {};
          if (request.headers['x-test-end'] === undefined || userId == null) return;
          await own.write((tx) => revokeSessions(tx, userId, now()));
        }),
    ),

  'a stream that goes on after 20,000 rows has them all, and after one more an event says that some are missing':
    (store) =>
      withStreams(store, async ({ world, customer, namespace, open }) => {
        const other = await world.customer();
        const busy = await other.namespace();
        await addRows(world, namespace.id, [{ ago: 0, durationMs: 1 }]);
        const [{ id }] = (await customer.get('/query_logs?limit=1')).json.query_logs;
        const batch = Array.from({ length: 2000 }, () => ({ ago: 0 }));
        for (let rows = 0; rows < LIMITS.queryLogResumeRows - 2000; rows += 2000) {
          await addRows(world, busy.id, batch);
        }
        await addRows(world, busy.id, batch.slice(1));
        await addRows(world, namespace.id, [{ ago: 0, durationMs: 2 }]);
        const resume = { headers: { 'last-event-id': id } };
        const first = await open(customer, resume);
        const [whole] = await first.take(1);
        assert.deepEqual([whole!.event, whole!.data.duration_ms], ['message', 2]);
        await addRows(world, namespace.id, [{ ago: 0, durationMs: 3 }]);
        // The reader of the process is past it then. A stream that joins before it is there gets the row as a new one, and misses none.
        await rowOf(first, 3);
        const [gap, ...rest] = await (await open(customer, resume)).take(3);
        assert.deepEqual([gap!.event, gap!.id, gap!.data], ['skipped', null, { count: null }]);
        assert.deepEqual(
          rest.map(({ data }) => data.duration_ms),
          [2, 3],
        );
      }),

  'a server that stops ends its streams in order, and finishes a request that is under way': (store) =>
    withStreams(store, async ({ world, port, customer, namespace, open, follows }) => {
      const reader = await open(customer);
      await follows(reader);
      await addRows(world, namespace.id, [{ ago: 0, durationMs: 31 }]);
      await rowOf(reader, 31);
      // A client that keeps its connection, and asks for a stream once the server is stopping.
      const late = connect(port, '127.0.0.1');
      let text = '';
      late.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      const head = `Host: x\r\nAuthorization: Bearer ${customer.token}\r\n`;
      const gone = once(late, 'close');
      late.write(
        `POST /api/v1/namespaces HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n`,
      );
      await once(world.app.server, 'request');
      const closed = world.app.close();
      late.write(`{}GET /api/v1/query_logs/stream HTTP/1.1\r\n${head}\r\n`);
      await reader.ended();
      assert.equal(reader.isWhole(), true);
      await closed;
      await gone;
      assert.match(text, /^HTTP\/1\.1 400 /);
      const [, stream] = text.split('HTTP/1.1 200 ');
      if (stream !== undefined) assert.match(stream, /\r\n0\r\n\r\n$/);
    }),
});
