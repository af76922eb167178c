/**
 * Three edges over a real broker and PostgreSQL: how soon changes are visible, and what SIGKILL at random moments does.
 * Usage: node test/ci/nodes.ts [rounds] [seed] [writes]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { createUdpAsker } from '../support/feed/udp-asker.ts';
import { type Cluster, startCluster } from '../support/nodes/cluster.ts';
import { faultRounds } from '../support/nodes/fault-rounds.ts';
import { compareWithLimit, type Times, timesOf, untilAll } from '../support/nodes/measure.ts';
import { startProber } from '../support/nodes/prober.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';

const rounds = Number(process.argv[2] ?? 20);
const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
const writes = Number(process.argv[4] ?? 500);
const REVOCATIONS = 100;
const BULK_WRITES = 200;
const BULK_A_SECOND = 1_000;
const BULK_AT_ONCE = 100;

const missing = natsMissing() ?? postgresMissing();
if (missing !== null) {
  process.stdout.write(`skipped: ${missing}\n`);
  process.exit(0);
}
process.once('SIGTERM', () => process.exit(1));

const faults: string[] = [];
const ids = new Map<string, string>();
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function compareTimes(what: string, times: Times, limits: Partial<Times>): void {
  say(`${what}: p50 ${times.p50} ms, p99 ${times.p99} ms, most ${times.most} ms`);
  for (const [name, limit] of Object.entries(limits) as [keyof Times, number][]) {
    const { note, fault } = compareWithLimit(`${what}, ${name}`, times[name], limit);
    if (note !== null) say(note);
    if (fault !== null) faults.push(fault);
  }
}

say(`seed ${seed}: node test/ci/nodes.ts ${rounds} ${seed} ${writes}`);
const began = performance.now();
const cluster = await startCluster();
const askers = cluster.edges.map(({ dnsPort }) => createUdpAsker(dnsPort));
const prober = startProber(askers);
try {
  const customer = cluster.customers[0]!;
  for (const name of ['acme', 'bulk', 'hush']) {
    const made = await expect(201, customer.call('POST', '/namespaces', { namespace: { name } }));
    ids.set(name, (made as { id: string }).id);
  }
  for (const name of ['acme', 'bulk']) cluster.cli(['namespace', 'public-read', name, 'on']);
  // Before anybody asks: rows of the query log are transactions too.
  await idleCost();
  for (let i = 0; i < 20; i++) {
    await write(`steady-${i}.acme.v1`, `steady ${i}`);
    await untilAll(askers, `get.steady-${i}.acme.v1`, ({ payload }) => payload === `steady ${i}`);
    prober.expect(`get.steady-${i}.acme.v1`, `steady ${i}`);
  }
  say(`the cluster runs after ${Math.round((performance.now() - began) / 1000)} s`);

  compareTimes(`${writes} writes, paced`, await pacedWrites('paced', writes), { p50: 100, p99: 250 });
  const bulk = startBulk();
  compareTimes(`${BULK_WRITES} writes beside bulk`, await pacedWrites('beside', BULK_WRITES), {
    p50: 100,
    p99: 250,
  });
  say(`bulk: ${Math.round(await bulk())} records a second`);
  compareTimes(`${REVOCATIONS} revocations`, await revocations(), { most: 1_000 });

  faults.push(...(await faultRounds({ cluster, askers, prober, rounds, seed, say })));
} finally {
  await prober.stop();
  for (const asker of askers) asker.close();
  await cluster.remove();
}
say(
  `prober: ${prober.answers} right answers, ${prober.silent} without a reply, ${prober.wrong.length} wrong`,
);
faults.push(...prober.wrong.slice(0, 10));
say(`${Math.round((performance.now() - began) / 1000)} s`);
for (const fault of faults) say(`FAULT ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

async function expect(status: number, answer: ReturnType<Cluster['customers'][0]['call']>): Promise<unknown> {
  const { status: found, body } = await answer;
  if (found !== status) throw new Error(`status ${found}, not ${status}: ${JSON.stringify(body)}`);
  return body;
}

async function write(key: string, text: string): Promise<void> {
  const record = { key, data: base64(text) };
  await expect(201, cluster.customers[0]!.call('POST', '/records', { record }));
}

/** Nodes ask the database nothing: without them it has the same to do. */
async function idleCost(): Promise<void> {
  const withNodes = await transactionsPerSecond();
  await Promise.all(cluster.edges.map((edge) => edge.kill()));
  const without = await transactionsPerSecond();
  await Promise.all(cluster.edges.map((edge) => edge.start()));
  say(
    `idle: ${withNodes.toFixed(1)} transactions/s of PostgreSQL with three edges, ${without.toFixed(1)} without`,
  );
  // Three nodes that poll would add more: each asked eight times a second before there was a feed.
  if (withNodes > without * 1.5 + 5)
    faults.push('the idle cost of PostgreSQL grows with the number of nodes');
}

async function transactionsPerSecond(): Promise<number> {
  const IDLE_MS = 5_000;
  const count = async (): Promise<number> => {
    const sql = 'select sum(xact_commit) as n from pg_stat_database';
    return Number(((await cluster.database.query(sql)) as { n: string }[])[0]?.n);
  };
  // What was done before is counted by now.
  await sleep(1_500);
  const before = await count();
  await sleep(IDLE_MS);
  return ((await count()) - before) / (IDLE_MS / 1_000);
}

/** Each write is visible everywhere before the next one is made. */
async function pacedWrites(prefix: string, count: number): Promise<Times> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const payload = `${prefix} ${i}`;
    await write(`${prefix}-${i}.acme.v1`, payload);
    times.push(await untilAll(askers, `get.${prefix}-${i}.acme.v1`, (answer) => answer.payload === payload));
    await sleep(10);
  }
  return timesOf(times);
}

/** @returns stops it, and tells the records a second */
function startBulk(): () => Promise<number> {
  let isRunning = true;
  let written = 0;
  const start = performance.now();
  async function run(): Promise<void> {
    while (isRunning) {
      const records = Array.from({ length: BULK_AT_ONCE }, (_, i) => ({
        key: `bulk-${(written + i) % 5_000}.bulk.v1`,
        data: base64(`bulk ${written + i}`),
      }));
      await expect(200, cluster.customers[1]!.call('POST', '/records/bulk', { records }));
      written += BULK_AT_ONCE;
      const due = start + (written / BULK_A_SECOND) * 1_000;
      await sleep(Math.max(0, due - performance.now()));
    }
  }
  const ended = run();
  return async () => {
    isRunning = false;
    await ended;
    return (written / (performance.now() - start)) * 1_000;
  };
}

/** From the answer to DELETE until all edges refuse. */
async function revocations(): Promise<Times> {
  const customer = cluster.customers[0]!;
  await write('secret.hush.v1', 'hush');
  const times: number[] = [];
  for (let i = 0; i < REVOCATIONS; i++) {
    const path = `/namespaces/${ids.get('hush')}/query_tokens`;
    const minted = (await expect(201, customer.call('POST', path, { name: `token ${i}` }))) as {
      id: string;
      token: string;
    };
    const name = `get.auth-${minted.token}.secret.hush.v1`;
    await untilAll(askers, name, ({ payload }) => payload === 'hush');
    await expect(204, customer.call('DELETE', `${path}/${minted.id}`));
    times.push(await untilAll(askers, name, ({ rcode }) => rcode === 'REFUSED'));
    // A node that has heard of a revocation never honours the token again.
    prober.expectRefused(name);
  }
  return timesOf(times);
}
