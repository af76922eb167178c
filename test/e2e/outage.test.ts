import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { postgresDatabase, postgresMissing } from '../support/control/store/postgres.ts';
import { relayTo } from '../support/relay.ts';
import { account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { eventually, read } from './client.ts';

/** Far above the bounds of docs/OPERATIONS.md, for a busy machine. */
const PATIENCE_MS = 30_000;

interface Ready {
  readonly status: number;
  readonly body: {
    readonly ready: boolean;
    readonly reasons?: string[];
    readonly stale?: boolean;
    readonly lag?: { readonly changes: number; readonly seconds: number };
  };
}

async function readyz(server: Uqrp): Promise<Ready> {
  const reply = await fetch(`http://127.0.0.1:${server.ports.http}/readyz`);
  return { status: reply.status, body: (await reply.json()) as Ready['body'] };
}

async function metricOf(server: Uqrp, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${server.ports.http}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

const lagMetric = (server: Uqrp): Promise<number> => metricOf(server, 'uqrp_feed_lag_seconds');

describe('an outage of PostgreSQL below a control process and edges', {
  skip: postgresMissing() ?? false,
}, () => {
  it('is told by readiness and lag, stops no answer and no start of an edge, and ends by itself', async () => {
    const database = await postgresDatabase();
    const relay = await relayTo(database.url);
    const shared = {
      UQRP_DATABASE_URL: relay.url,
      UQRP_SECRET: 'a secret of more than 32 characters',
      UQRP_WORKERS: '1',
    };
    const servers: Uqrp[] = [];
    const startOne = async (env: NodeJS.ProcessEnv, dataDir?: string): Promise<Uqrp> => {
      const server = await startUqrp({ ...shared, ...env }, dataDir);
      servers.push(server);
      return server;
    };
    const until = (check: () => Promise<boolean>): Promise<void> => eventually(check, PATIENCE_MS);
    try {
      const control = await startOne({ UQRP_ROLE: 'control' });
      let edge = await startOne({ UQRP_ROLE: 'edge' });
      // `cli` blocks this process and its relay, so commands connect to the database directly.
      const direct = await startOne({ UQRP_ROLE: 'control', UQRP_DATABASE_URL: database.url });
      const customer = account(direct).at(`http://127.0.0.1:${control.ports.http}/api/v1`);
      await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
      direct.cli(['namespace', 'public-read', 'acme', 'on']);
      await direct.stop();
      await customer.call('POST', '/records', { record: { key: 'temp.acme.v1', data: 'aGVsbG8=' } });
      const answers = async (): Promise<boolean> =>
        (await read(edge, 'get.temp.acme.v1')).payload === 'hello';
      await until(answers);
      assert.deepEqual((await readyz(control)).body, { ready: true });
      await until(async () => {
        const { status, body } = await readyz(edge);
        return status === 200 && body.stale === false && body.lag?.changes === 0;
      });

      await relay.cut();
      await until(async () => (await readyz(control)).status === 503);
      assert.deepEqual((await readyz(control)).body, { ready: false, reasons: ['store'] });
      assert.equal(await metricOf(control, 'uqrp_database_up'), 0);
      await until(async () => (await readyz(edge)).body.stale === true);
      const first = await lagMetric(edge);
      await until(async () => (await lagMetric(edge)) > first);
      const cutOff = await readyz(edge);
      assert.deepEqual([cutOff.status, cutOff.body.ready], [200, true]);
      assert.ok((cutOff.body.lag?.seconds ?? 0) > 0);
      assert.ok(await answers());

      await edge.stop();
      edge = await startOne({ UQRP_ROLE: 'edge' }, edge.dataDir);
      assert.ok(await answers(), 'an edge answers from its view after a start without a database');
      const started = await readyz(edge);
      assert.deepEqual([started.status, started.body.stale], [200, true]);
      const fresh = await startOne({ UQRP_ROLE: 'edge', UQRP_DNSSEC: 'off' });
      const empty = await readyz(fresh);
      assert.deepEqual([empty.status, empty.body.reasons], [503, ['feed']]);

      await relay.restore();
      await until(async () => (await readyz(control)).status === 200);
      const { status } = await customer.call('POST', '/records', {
        record: { key: 'later.acme.v1', data: 'aGVsbG8=' },
      });
      assert.equal(status, 201);
      for (const node of [edge, fresh]) {
        await until(async () => (await read(node, 'get.later.acme.v1')).payload === 'hello');
        await until(async () => (await readyz(node)).body.stale === false);
        assert.equal((await readyz(node)).status, 200);
      }
    } finally {
      for (const server of servers.reverse()) await server.remove();
      await relay.cut();
      await database.drop();
    }
  });
});
