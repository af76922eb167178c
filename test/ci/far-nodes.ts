/**
 * A node far from control and broker: 150 ms there and back, and 1 % of the packets are lost in each direction. Prints how soon writes and
 * revocations are seen there, and how soon the node has everything after an outage of the line.
 * Usage: node test/ci/far-nodes.ts [--writes N] [--revocations N] [--outage SECONDS] [--rate WRITES] [--delay MS] [--loss PER_THOUSAND]
 *   [--seed N] [--congestion NAME]
 *
 * `--outage 60` is the long form; `--rate` are the records a second that are written during the outage.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { wallClock } from '../support/nodes/far/far-side.ts';
import { type FarWorld, farMissing, startFarWorld } from '../support/nodes/far/far-world.ts';
import { compareWithLimit, timesOf } from '../support/nodes/measure.ts';
import { enterOwnNetwork } from '../support/own-network.ts';

const missing = farMissing();
if (missing !== null) {
  process.stdout.write(`skipped: ${missing}\n`);
  process.exit(0);
}
enterOwnNetwork([]);
process.once('SIGTERM', () => process.exit(1));

const { values } = parseArgs({
  options: {
    writes: { type: 'string', default: '120' },
    revocations: { type: 'string', default: '20' },
    outage: { type: 'string', default: '10' },
    rate: { type: 'string', default: '50' },
    delay: { type: 'string', default: '75' },
    loss: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    congestion: { type: 'string' },
  },
});
const number = (name: Exclude<keyof typeof values, 'congestion'>): number => Number(values[name]);
/** Milliseconds. */
const LIMITS = { p99: 450, revocation: 1_000, caughtUp: 5_000 };
const GAP_MS = 300;
const TEN_MS = 100;

const faults: string[] = [];
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function compare(what: string, ms: number, limitMs: number): void {
  const { note, fault } = compareWithLimit(what, ms, limitMs);
  if (note !== null) say(note);
  if (fault !== null) faults.push(fault);
}

const began = performance.now();
const line = { delayMs: number('delay'), loss: number('loss'), seed: number('seed') };
const world = await startFarWorld({ ...line, congestion: values.congestion ?? null });
try {
  const startedAt = performance.now();
  await world.startNode();
  say(
    `${2 * line.delayMs} ms there and back, ${line.loss / 10} % loss each way, ${world.congestion}; the node listens after ${since(startedAt)} ms`,
  );
  const ids = await namespaces(world);
  await measureWrites(world, number('writes'));
  await measureRevocations(world, ids.get('hush')!, number('revocations'));
  await measureOutage(world, number('outage'), number('rate'));
} finally {
  await world.remove();
}
say(`${Math.round((performance.now() - began) / 1000)} s`);
for (const fault of faults) say(`FAULT ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

function since(from: number): number {
  return Math.round(performance.now() - from);
}

async function expect(status: number, answer: ReturnType<FarWorld['customer']['call']>): Promise<unknown> {
  const { status: found, body } = await answer;
  if (found !== status) throw new Error(`status ${found}, not ${status}: ${JSON.stringify(body)}`);
  return body;
}

async function write({ customer }: FarWorld, key: string, text: string): Promise<void> {
  await expect(201, customer.call('POST', '/records', { record: { key, data: base64(text) } }));
}

async function namespaces({ control, customer }: FarWorld): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const name of ['acme', 'bulk', 'hush']) {
    const made = await expect(201, customer.call('POST', '/namespaces', { namespace: { name } }));
    ids.set(name, (made as { id: string }).id);
  }
  for (const name of ['acme', 'bulk']) control.cli(['namespace', 'public-read', name, 'on']);
  return ids;
}

/** From the answer to POST until the node gives the record. Gaps differ, so that some writes have others behind them and some do not. */
async function measureWrites(of: FarWorld, count: number): Promise<void> {
  const times: Promise<number>[] = [];
  for (let i = 0; i < count; i++) {
    const payload = `write ${i}`;
    const seen = of.far({ do: 'until', name: `get.write-${i}.acme.v1`, payload });
    await write(of, `write-${i}.acme.v1`, payload);
    const acknowledgedAt = wallClock();
    times.push(seen.then(({ at }) => at - acknowledgedAt));
    await sleep(Math.random() * GAP_MS);
  }
  const { p50, p99, most } = timesOf(await Promise.all(times));
  say(`${count} writes: p50 ${p50} ms, p99 ${p99} ms, most ${most} ms`);
  compare('writes, p99', p99, LIMITS.p99);
}

/** From the answer to DELETE until the node refuses. */
async function measureRevocations(of: FarWorld, id: string, count: number): Promise<void> {
  await write(of, 'secret.hush.v1', 'hush');
  const path = `/namespaces/${id}/query_tokens`;
  const tokens: { id: string; name: string }[] = [];
  for (let i = 0; i < count; i++) {
    const minted = await expect(201, of.customer.call('POST', path, { name: `token ${i}` }));
    const { id: token, token: secret } = minted as { id: string; token: string };
    tokens.push({ id: token, name: `get.auth-${secret}.secret.hush.v1` });
  }
  await Promise.all(tokens.map(({ name }) => of.far({ do: 'until', name, payload: 'hush' })));
  const times: Promise<number>[] = [];
  for (const token of tokens) {
    const seen = of.far({ do: 'until', name: token.name, payload: null });
    await expect(204, of.customer.call('DELETE', `${path}/${token.id}`));
    const acknowledgedAt = wallClock();
    times.push(seen.then(({ at }) => at - acknowledgedAt));
    await sleep(Math.random() * GAP_MS);
  }
  const { p50, most } = timesOf(await Promise.all(times));
  say(`${count} revocations: p50 ${p50} ms, most ${most} ms`);
  compare('a revocation', most, LIMITS.revocation);
}

/** From the moment when the line is up again until the node has the last record that was written before, and says that it is level. */
async function measureOutage(of: FarWorld, seconds: number, rate: number): Promise<void> {
  // The first request of the far process loads what it needs for requests, which takes tenths of a second.
  await of.far({ do: 'readyz' });
  of.setLine(false);
  const end = performance.now() + seconds * 1_000;
  let written = 0;
  for (let due = performance.now(); due < end; due += TEN_MS) {
    await sleep(Math.max(0, due - performance.now()));
    // Single requests, so that the stream has as many batches as that makes.
    for (let i = 0; i < (rate * TEN_MS) / 1_000; i++) {
      await write(of, `away-${written++}.bulk.v1`, `away ${written}`);
    }
  }
  await write(of, 'last.bulk.v1', 'last');
  const upAt = wallClock();
  of.setLine(true);
  const { at } = await of.far({ do: 'until', name: 'get.last.bulk.v1', payload: 'last' });
  const has = Math.round(at - upAt);
  for (;;) {
    const { value } = await of.far({ do: 'readyz' });
    const { stale, lag } = value as { stale: boolean; lag: { changes: number } };
    if (!stale && lag.changes === 0) break;
    await sleep(20);
  }
  const level = Math.round(wallClock() - upAt);
  say(
    `after ${seconds} s without the line and ${written + 1} writes: the last one is there after ${has} ms, the node is level after ${level} ms`,
  );
  compare('caught up', level, LIMITS.caughtUp);
}
