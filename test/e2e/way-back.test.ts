import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCli } from '../support/command.ts';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { type ManyNodes, startManyNodes } from '../support/feed/many-nodes.ts';
import { type Account, account, type Uqrp } from '../support/server-process.ts';
import { fixture } from '../support/services/providers/rig.ts';
import { eventually, read } from './client.ts';

/** Far above what a return takes: attempts that were under way when control came back have to end first. */
const PATIENCE_MS = 90_000;
const NAMES = ['ams1', 'fra1', 'sin1'];

interface NodeRow {
  readonly name: string;
  readonly seq: number | null;
  readonly lag: { readonly changes: number; readonly seconds: number } | null;
  readonly heartbeat_seconds: number | null;
  readonly version: string | null;
  readonly key_tags: readonly number[];
  readonly stale: boolean;
  readonly late: boolean;
  readonly view_seconds: number | null;
}

describe('what three edge nodes send back to control', { skip: natsMissing() ?? false }, () => {
  let world: ManyNodes;
  let control: Uqrp;
  let customer: Account;
  let name: string;
  let controlEnv: NodeJS.ProcessEnv;
  const nodes: Uqrp[] = [];
  const calls: string[] = [];
  let counted = 0;
  let rows = 0;
  const providers = createServer((request, response) => {
    calls.push(request.url ?? '');
    response.end(fixture('coinbase.json'));
  });

  const usage = async (): Promise<number> => {
    const { body } = await customer.call('GET', '/usage');
    return (body as { metered: { total_authenticated_queries: number } }).metered.total_authenticated_queries;
  };
  const hits = async (): Promise<number> => {
    const { body } = await customer.call('GET', '/query_logs?status=hit');
    return (body as { meta: { total: number } }).meta.total;
  };
  /** Reads of the private record that are counted. */
  async function readOn(node: Uqrp, times: number): Promise<void> {
    for (let i = 0; i < times; i++) assert.equal((await read(node, name)).payload, 'warm');
    counted += times;
    rows += times;
  }
  const startControl = async (): Promise<void> => {
    control = await world.start(controlEnv, control?.dataDir);
    customer = customer?.at(`http://127.0.0.1:${control.ports.http}/api/v1`);
  };
  /** Answers that a node has counted and control has not acknowledged. */
  async function unsent({ ports }: Uqrp): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${ports.http}/metrics`)).text();
    return Number(/^uqrp_usage_waiting_answers (\d+)$/m.exec(metrics)?.[1]);
  }
  async function killed(server: Uqrp): Promise<void> {
    const gone = once(server.child, 'exit');
    server.child.kill('SIGKILL');
    await gone;
  }

  before(async () => {
    providers.listen(0, '127.0.0.1');
    await once(providers, 'listening');
    world = await startManyNodes();
    const origin = `http://127.0.0.1:${(providers.address() as AddressInfo).port}`;
    controlEnv = { ...world.controlEnv, UQRP_COINBASE_URL: origin, UQRP_KRAKEN_URL: 'off' };
    await startControl();
    for (const one of NAMES) nodes.push(await world.start(await world.nodeEnv(one)));
    customer = account(control);
    const made = await customer.call('POST', '/namespaces', { namespace: { name: 'acme' } });
    const { id } = made.body as { id: string };
    const minted = await customer.call('POST', `/namespaces/${id}/query_tokens`, { name: 'test' });
    name = `get.auth-${(minted.body as { token: string }).token}.temp.acme.v1`;
    const record = { key: 'temp.acme.v1', data: Buffer.from('warm').toString('base64') };
    assert.equal((await customer.call('POST', '/records', { record })).status, 201);
    for (const node of nodes) {
      await eventually(async () => (await read(node, name)).payload === 'warm');
      counted++;
      rows++;
    }
  });
  after(async () => {
    await world?.close();
    providers.closeAllConnections();
    providers.close();
  });

  it('reads on all nodes are in /usage once, and in /query_logs', async () => {
    for (const node of nodes) await readOn(node, 20);
    await eventually(async () => (await usage()) === counted, PATIENCE_MS);
    await eventually(async () => (await hits()) === rows, PATIENCE_MS);
    const { body } = await customer.call('GET', '/query_logs/counts?group=node');
    const { groups } = body as { groups: { key: string; total: number }[] };
    assert.deepEqual(groups.map(({ key }) => key).sort(), NAMES);
    // A read may have come before, while the nodes began.
    assert.ok(groups.every(({ total }) => total >= 20));
  });

  it('three edges make one call to a provider', async () => {
    const told = nodes.map((node) => read(node, 'get.btc-usd.crypto.public.v1'));
    for (const answer of await Promise.all(told)) assert.equal(answer.rcode, 'NOERROR');
    await Promise.all(nodes.map((node) => read(node, 'get.btc-usd.crypto.public.v1')));
    assert.equal(calls.length, 1, calls.join(' '));
  });

  it('node status has every node with the keys that it signs with, feed status what control knows', async () => {
    const status = async (): Promise<{ code: number | null; nodes: readonly NodeRow[] }> => {
      const { code, out, errors } = await runCli(['node', 'status', '--feed', world.feed.dir, '--json'], {});
      return { code, nodes: errors === '' ? (JSON.parse(out) as { nodes: NodeRow[] }).nodes : [] };
    };
    await eventually(
      async () => (await status()).nodes.every(({ seq, stale }) => seq !== null && !stale),
      PATIENCE_MS,
    );
    const now = await status();
    assert.deepEqual(now.nodes.map((node) => node.name).toSorted(), NAMES);
    assert.equal(now.code, 0);
    for (const { lag, heartbeat_seconds: heard, version, late, key_tags: tags } of now.nodes) {
      assert.deepEqual([lag?.changes, late], [0, false]);
      assert.deepEqual(tags, now.nodes[0]?.key_tags, 'all sign with the same keys');
      assert.ok(tags.length >= 2);
      assert.ok(heard !== null && heard < 10 && version !== null);
    }
    for (const { view_seconds: built } of now.nodes)
      assert.ok(built !== null && built >= 0, 'each began with nothing, so it built a view');
    const plain = await runCli(['node', 'status'], { UQRP_FEED_CREDENTIALS: world.feed.control });
    assert.equal(plain.code, 0, plain.errors);
    assert.match(plain.out, /^NODE .*\n.*ams1 .* current/);
    const feed = await runCli(['feed', 'status', '--feed', world.feed.dir, '--json'], {});
    assert.equal(feed.code, 0, feed.errors);
    const { log, publisher, nodes: count, nodes_late: late } = JSON.parse(feed.out);
    assert.deepEqual([log.head > 0, publisher?.conflicts ?? 0, count, late], [true, 0, 3, []]);
  });

  it('counts stay whole when control is killed at any moment', async () => {
    for (let round = 0; round < 2; round++) {
      for (const node of nodes) await readOn(node, 5);
      // About when the batches of this second arrive: before, between or after commit and acknowledgement.
      await sleep(700 + round * 300);
      await killed(control);
      await startControl();
    }
    await eventually(async () => (await usage()) === counted, PATIENCE_MS);
  });

  it('a node that is killed while control is away sends its spool after its next start', async () => {
    const [node] = nodes;
    const spool = join(node!.dataDir, 'accounting', 'usage.json');
    // What control took in the test before and was killed before it said so is sent once more, and would be spooled with the counts of
    // this test. It is in no file yet while the node waits for the answer, and a file of it goes some seconds after it has arrived.
    await eventually(async () => (await unsent(node!)) === 0, PATIENCE_MS);
    await killed(control);
    // Neither 5 nor 10, of which the file of the test before may be.
    const times = 7;
    await readOn(node!, times);
    const spooled = (): number => {
      if (!existsSync(spool)) return 0;
      const { batches } = JSON.parse(readFileSync(spool, 'utf8')) as {
        batches: [string, string, [string, number, number][]][];
      };
      return batches.flatMap(([, , counts]) => counts).reduce((sum, [, , answers]) => sum + answers, 0);
    };
    await eventually(async () => spooled() === times, PATIENCE_MS);
    await killed(node!);
    await startControl();
    nodes[0] = await world.start(await world.nodeEnv(NAMES[0]!), node!.dataDir);
    await eventually(async () => (await usage()) === counted, PATIENCE_MS);
    await eventually(async () => !existsSync(spool), PATIENCE_MS);
  });

  it('says what cannot be reached', async () => {
    await control.stop();
    const alone = await runCli(['node', 'status', '--feed', world.feed.dir], {});
    assert.deepEqual([alone.code, alone.out], [1, '']);
    assert.match(alone.errors, /no control process answers: start one/);
    await world.broker.kill();
    const dark = await runCli(['feed', 'status', '--feed', world.feed.dir], {});
    assert.equal(dark.code, 1);
    assert.match(dark.errors, /the broker at 127\.0\.0\.1:\d+ cannot be reached.*start nats-server/);
    const nowhere = await runCli(['node', 'status'], {});
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.errors, /give --feed DIR/);
  });
});
