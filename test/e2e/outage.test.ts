import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { startManyNodes } from '../support/feed/many-nodes.ts';
import { freePort } from '../support/free-port.ts';
import { relayTo } from '../support/relay.ts';
import { account, type Uqrp } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';
import { eventually, read } from './client.ts';

/** Far above the bounds of docs/OPERATIONS.md, for a busy machine. */
const PATIENCE_MS = 60_000;

interface Ready {
  readonly status: number;
  readonly body: {
    readonly ready: boolean;
    readonly reasons?: string[];
    readonly stale?: boolean;
    readonly lag?: { readonly changes: number; readonly seconds: number };
  };
}

async function readyz(port: number): Promise<Ready> {
  const reply = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
  if (reply === null) return { status: 0, body: { ready: false } };
  return { status: reply.status, body: (await reply.json()) as Ready['body'] };
}

async function metricOf(server: Uqrp, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${server.ports.http}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

describe('an outage of PostgreSQL, broker and control around edges', {
  skip: postgresMissing() ?? natsMissing() ?? false,
}, () => {
  it('is told by readiness and lag, stops no answer and no start of an edge, and ends by itself', async () => {
    const database = await postgresDatabase();
    const relay = await relayTo(database.url);
    const world = await startManyNodes({ UQRP_DNSSEC: 'off' });
    const until = (check: () => Promise<boolean>): Promise<void> => eventually(check, PATIENCE_MS);
    try {
      const env = {
        ...world.controlEnv,
        UQRP_DATABASE_URL: relay.url,
        UQRP_SECRET: 'a secret of more than 32 characters',
      };
      const control = await world.start(env);
      const edgeEnv = await world.nodeEnv('one');
      let edge = await world.start(edgeEnv);
      // `cli` blocks this process and its relay, so commands connect to the database directly.
      const direct = await world.start({ ...env, UQRP_DATABASE_URL: database.url });
      const customer = account(direct).at(`http://127.0.0.1:${control.ports.http}/api/v1`);
      await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      direct.cli(['namespace', 'public-read', 'acme', 'on']);
      await direct.stop();
      await customer.call('POST', '/records', { record: { key: 'temp.acme.v1', data: 'aGVsbG8=' } });
      const answers = async (): Promise<boolean> =>
        (await read(edge, 'get.temp.acme.v1')).payload === 'hello';
      await until(answers);
      assert.deepEqual((await readyz(control.ports.http)).body, { ready: true });
      await until(async () => {
        const { status, body } = await readyz(edge.ports.http);
        return status === 200 && body.stale === false && body.lag?.changes === 0;
      });
      assert.equal(await metricOf(edge, 'uqrp_feed_stale_seconds'), 0);

      await relay.cut();
      await until(async () => (await readyz(control.ports.http)).status === 503);
      assert.deepEqual((await readyz(control.ports.http)).body, { ready: false, reasons: ['store'] });
      assert.equal(await metricOf(control, 'uqrp_database_up'), 0);
      // Without a database control proves nothing, so it sends no heartbeat.
      await until(async () => (await readyz(edge.ports.http)).body.stale === true);
      await world.broker.kill();
      await until(async () => (await metricOf(edge, 'uqrp_feed_connected')) === 0);
      const first = await metricOf(edge, 'uqrp_feed_stale_seconds');
      await until(async () => (await metricOf(edge, 'uqrp_feed_stale_seconds')) > first);
      const cutOff = await readyz(edge.ports.http);
      assert.deepEqual([cutOff.status, cutOff.body.ready], [200, true]);
      assert.ok((cutOff.body.lag?.seconds ?? 0) > 0);
      assert.ok(await answers());

      await edge.stop();
      edge = await world.start(edgeEnv, edge.dataDir);
      assert.ok(await answers(), 'an edge answers from its view after a start with everything else dead');
      const started = await readyz(edge.ports.http);
      assert.deepEqual([started.status, started.body.stale], [200, true]);

      // An edge without secrets and view does not answer: it would refuse names that exist, and what it signs nobody would believe.
      const port = await freePort();
      await world.broker.start();
      const second = await world.nodeEnv('two');
      await world.broker.kill();
      const fresh = world.start({ ...second, UQRP_HTTP_PORT: String(port) });
      await until(async () => (await readyz(port)).body.reasons?.includes('keys') === true);
      assert.deepEqual((await readyz(port)).body, { ready: false, reasons: ['starting', 'keys'] });

      await Promise.all([relay.restore(), world.broker.start()]);
      await until(async () => (await readyz(control.ports.http)).status === 200);
      const { status } = await customer.call('POST', '/records', {
        record: { key: 'later.acme.v1', data: 'aGVsbG8=' },
      });
      assert.equal(status, 201);
      for (const node of [edge, await fresh]) {
        await until(async () => (await read(node, 'get.later.acme.v1')).payload === 'hello');
        await until(async () => (await readyz(node.ports.http)).body.stale === false);
        assert.equal((await readyz(node.ports.http)).status, 200);
      }
    } finally {
      await world.close();
      await relay.cut();
      await database.drop();
    }
  });
});
