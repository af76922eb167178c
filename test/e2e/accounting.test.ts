import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { decodeBlock } from '../../src/store/query-log/block.ts';
import type { QueryLogBlocksTable } from '../../src/store/query-log/tables.ts';
import { listeners } from '../support/observed.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { type Steering, steering } from '../support/steered-worker.ts';
import { eventually, read } from './client.ts';

/** For a busy machine. A quiet one needs less than three seconds. */
const PATIENCE_MS = 15_000;
const TRANSPORTS = ['udp', 'tcp', 'dot', 'doh'] as const;

/** Answers of a namespace in all hours, read as another process would. */
function answersOf(dataDir: string, namespaceId: string): number {
  const database = new DatabaseSync(join(dataDir, 'uqrp.sqlite'), { readOnly: true, timeout: PATIENCE_MS });
  try {
    const row = database
      .prepare('select coalesce(sum(answers), 0) as answers from usage_hours where namespace_id = ?')
      .get(namespaceId) as { answers: number };
    return row.answers;
  } finally {
    database.close();
  }
}

/** The rows of a namespace's query log, by status and transport, with the labels that they show. */
function rowsOf(dataDir: string, namespaceId: string): Record<string, number> {
  const database = new DatabaseSync(join(dataDir, 'uqrp.sqlite'), { readOnly: true, timeout: PATIENCE_MS });
  try {
    const blocks = database
      .prepare(
        `select query_log_blocks.*, status from query_log_blocks
        join query_log_series on query_log_series.id = series_id where namespace_id = ?`,
      )
      .all(namespaceId) as unknown as (QueryLogBlocksTable & { status: string })[];
    const kinds = blocks.flatMap((block) =>
      decodeBlock(block).map(
        ({ transport, resource, version }) =>
          `${block.status} ${transport} ${resource === null ? '-' : `${resource}.${version}`}`,
      ),
    );
    return Object.fromEntries(
      [...Map.groupBy(kinds, (kind) => kind)].map(([kind, { length }]) => [kind, length]),
    );
  } finally {
    database.close();
  }
}

interface Metered {
  readonly customer: Account;
  readonly namespaceId: string;
  /** Of the record that is read. */
  readonly name: string;
}

/** A private record, and nothing counted yet. */
async function meteredRecord(server: Uqrp): Promise<Metered> {
  const customer = account(server);
  const made = await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
  const { id: namespaceId } = made.body as { id: string };
  const minted = await customer.call('POST', `/namespaces/${namespaceId}/query_tokens`, { name: 'test' });
  const { token } = minted.body as { token: string };
  const name = `get.auth-${token}.temp.acme.v1`;
  // NODATA until the token has arrived, which does not count; the record comes after it.
  await eventually(async () => (await read(server, name)).rcode === 'NOERROR');
  const data = Buffer.from('warm').toString('base64');
  const written = await customer.call('POST', '/records', { record: { key: 'temp.acme.v1', data } });
  assert.equal(written.status, 201);
  return { customer, namespaceId, name };
}

describe('usage of a running server', () => {
  let server: Uqrp;
  let at: Metered;
  let steer: Steering;
  let counted = 0;

  before(async () => {
    steer = steering();
    server = await startUqrp({ ...steer.env, UQRP_WORKERS: '2' });
    at = await meteredRecord(server);
    // The first answer with data counts.
    await eventually(async () => (await read(server, at.name)).payload === 'warm');
    counted = 1;
    await eventually(async () => answersOf(server.dataDir, at.namespaceId) === 1);
  });
  after(async () => {
    await server.remove();
    steer.remove();
  });

  it('every private answer with data counts once, over every transport, and is in the database soon after', async () => {
    for (const transport of TRANSPORTS) {
      for (let i = 0; i < 5; i++) {
        assert.equal((await read(server, at.name, transport)).payload, 'warm');
        counted++;
      }
      await read(server, 'get.temp.acme.v1', transport);
      await read(server, `${at.name.replace('temp', 'missing')}`, transport);
      await read(server, 'get.1-km-to-m.units.public.v1', transport);
    }
    await eventually(async () => answersOf(server.dataDir, at.namespaceId) === counted, PATIENCE_MS);
  });

  it('every query over UDP, TCP and DoT is a row, with the labels of authorised ones alone', async () => {
    const expected: Record<string, number> = {};
    for (const transport of ['udp', 'tcp', 'dot']) {
      expected[`hit ${transport} temp.v1`] = transport === 'udp' ? 6 : 5;
      expected[`miss ${transport} missing.v1`] = 1;
      expected[`refused ${transport} -`] = 1;
    }
    // While the test waited for token and record, questions over UDP were refused, or a miss of the record.
    const seen = (): Record<string, number> => {
      const { 'miss udp temp.v1': _, ...rows } = rowsOf(server.dataDir, at.namespaceId);
      if ((rows['refused udp -'] ?? 0) > 1) rows['refused udp -'] = 1;
      return rows;
    };
    await eventually(async () => isDeepStrictEqual(seen(), expected), PATIENCE_MS);
  });

  it('the metrics show every query by what became of it', async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${server.ports.http}/metrics`)).text();
    assert.match(metrics, /uqrp_queries_total\{status="hit"\} [1-9]/);
    assert.match(metrics, /uqrp_queries_total\{status="refused"\} (?:[4-9]|\d{2,})\n/);
    assert.match(metrics, /uqrp_query_log_dropped_total 0\n/);
  });

  it('what was handed over before a worker ends by a fault stays counted, and its successor counts on', async () => {
    for (const worker of [0, 1]) {
      for (let i = 0; i < 10; i++) await read(server, at.name, 'tcp');
      counted += 10;
      await eventually(async () => answersOf(server.dataDir, at.namespaceId) === counted, PATIENCE_MS);
      // The port has one listener for each worker, and the successor is one. It waits: else it may listen before anybody has looked.
      steer.hold();
      steer.kill(worker);
      await eventually(async () => steer.isHeld(worker) && listeners(server.ports.dns) === 1, PATIENCE_MS);
      steer.release();
      await eventually(async () => listeners(server.ports.dns) === 2, PATIENCE_MS);
      for (let i = 0; i < 10; i++) await read(server, at.name, 'tcp');
      counted += 10;
    }
    await eventually(async () => answersOf(server.dataDir, at.namespaceId) === counted, PATIENCE_MS);
  });

  it('a stop loses nothing', async () => {
    for (let i = 0; i < 20; i++) await read(server, at.name);
    counted += 20;
    await server.stop();
    assert.equal(answersOf(server.dataDir, at.namespaceId), counted);
    assert.ok(!existsSync(join(server.dataDir, 'accounting', 'usage.json')));
  });
});

describe('usage while the database does not answer', () => {
  it('survives SIGKILL in the spool, and is counted once after the restart', async () => {
    const server = await startUqrp();
    try {
      const { customer, namespaceId, name } = await meteredRecord(server);
      await eventually(async () => (await read(server, name)).payload === 'warm');
      await eventually(async () => answersOf(server.dataDir, namespaceId) === 1);

      const blocker = new DatabaseSync(join(server.dataDir, 'uqrp.sqlite'), { timeout: PATIENCE_MS });
      blocker.exec('begin immediate');
      for (let i = 0; i < 10; i++) await read(server, name, i % 2 === 0 ? 'udp' : 'tcp');
      const spool = join(server.dataDir, 'accounting', 'usage.json');
      const spooled = (): number => (existsSync(spool) ? sumOf(readFileSync(spool, 'utf8')) : 0);
      await eventually(async () => spooled() === 10);
      assert.equal(statSync(spool).mode & 0o777, 0o600);
      const text = readFileSync(spool, 'utf8');
      for (const secret of ['acme', 'temp', 'svcq', customer.token, '127.0.0.1', '::1']) {
        assert.ok(!text.includes(secret), 'the spool holds something private');
      }
      const exit = once(server.child, 'exit');
      server.child.kill('SIGKILL');
      await exit;
      blocker.exec('rollback');
      blocker.close();

      const next = await startUqrp({}, server.dataDir);
      try {
        await eventually(async () => answersOf(server.dataDir, namespaceId) === 11);
        await eventually(async () => !existsSync(spool));
      } finally {
        await next.stop();
      }
      assert.equal(answersOf(server.dataDir, namespaceId), 11);
    } finally {
      await server.remove();
    }
  });
});

function sumOf(text: string): number {
  const { batches } = JSON.parse(text) as { batches: [string, string, [string, number, number][]][] };
  return batches.flatMap(([, , counts]) => counts).reduce((sum, [, , answers]) => sum + answers, 0);
}
