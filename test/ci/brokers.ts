/**
 * Three brokers, of which the one that leads the stream is killed again and again, under a publisher and three nodes. Every change comes to
 * every node once and in order, within the time of a quiet feed; each loss is told; the stream has all of it at the end.
 * Usage: node test/ci/brokers.ts [--kills N]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { STREAMS } from '../../src/feed/bus/bus.ts';
import { openNatsBus } from '../../src/feed/bus/nats/nats-bus.ts';
import { startFollower } from '../../src/feed/follower/follower.ts';
import { openBatch } from '../../src/feed/message/batch.ts';
import { startPublisher } from '../../src/feed/publish/publisher.ts';
import { startResponder } from '../../src/feed/publish/responder.ts';
import { openBusSource } from '../../src/feed/receive/bus-source.ts';
import { verifier } from '../support/feed/batch/messages.ts';
import { freeLock, testEnd, testKeys, testRpc, testSecrets } from '../support/feed/bus/bus-source-world.ts';
import { inState } from '../support/feed/bus/bus-suite.ts';
import { type NatsServer, natsMissing, runNats } from '../support/feed/bus/nats-server.ts';
import { createFakeSource } from '../support/feed/fake-source.ts';
import { freePort } from '../support/free-port.ts';
import { compareWithLimit, timesOf, waitFor } from '../support/nodes/measure.ts';
import { enterOwnNetwork } from '../support/own-network.ts';
import { createMemoryView } from '../support/view/memory-view.ts';
import { upserted } from '../support/view/view-changes.ts';

const SERVERS = ['one', 'two', 'three'];
const NODES = 3;
const KILL_EVERY_MS = 15_000;
/** Until the killed one is started again. */
const DOWN_MS = 8_000;
const WRITE_EVERY_MS = 10;
const P99_MS = 250;

const missing = natsMissing();
if (missing !== null) {
  process.stdout.write(`skipped: ${missing}\n`);
  process.exit(0);
}
enterOwnNetwork([]);
const { values } = parseArgs({ options: { kills: { type: 'string', default: '4' } } });
const KILLS = Number(values.kills);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
process.once('SIGTERM', () => process.exit(1));

interface Broker {
  readonly name: string;
  readonly server: NatsServer;
}

const folder = mkdtempSync(join(tmpdir(), 'uqrp-brokers-'));
const brokers = await startBrokers();
const servers = brokers.map(({ server }) => server.address);
const closing: (() => Promise<void> | void)[] = [];
const late: number[] = [];
const told = new Map<string, number>();
const faults: string[] = [];
/** Changes that came to a node with a view that it built anew. */
let inViews = 0;

try {
  await waitFor('the leader of JetStream', async () => (await leader()) !== undefined, 60_000);
  const { write, applied, cursors, publisher, control } = await startFeed();
  const began = performance.now();
  const writing = writeUntil(began + KILLS * KILL_EVERY_MS, write, applied);
  for (let kills = 0; kills < KILLS; kills++) {
    await sleep(Math.max(0, began + (kills + 1) * KILL_EVERY_MS - DOWN_MS - performance.now()));
    const name = await leader().catch(() => undefined);
    const broker = brokers.find((one) => one.name === name) ?? brokers[kills % brokers.length]!;
    await broker.server.kill();
    await sleep(DOWN_MS);
    await broker.server.start();
  }
  const written = await writing;
  await waitFor(
    'all changes at all nodes',
    async () => cursors.every((cursor) => cursor === written),
    60_000,
  );
  const due = written * NODES - inViews;
  if (late.length !== due) faults.push(`${late.length} changes were applied one by one, not ${due}`);
  // One election may end before an append has failed, and not each of four.
  if (told.size === 1) faults.push('the publisher told of no loss of a broker');
  await waitFor('the stream', async () => publisher.status().unconfirmed === 0, 60_000);
  // Of the leader: a copy may lag behind what was confirmed.
  const last = await control.readLast();
  const end = last === null ? 0 : openBatch(last.data, verifier).to;
  if (end !== written) faults.push(`the stream ends with change ${end}, not ${written}`);
  const times = timesOf(late);
  const seconds = Math.round((performance.now() - began) / 1_000);
  say(
    `${seconds} s, ${KILLS} kills, ${written} writes at ${NODES} nodes: p50 ${times.p50} ms, p99 ${times.p99} ms, most ${times.most} ms`,
  );
  for (const [what, count] of told) say(`${count} times ${what}`);
  const { note, fault } = compareWithLimit('p99', times.p99, P99_MS);
  if (note !== null) say(note);
  if (fault !== null) faults.push(fault);
} finally {
  for (const close of closing.toReversed()) await close();
  for (const { server } of brokers) await server.kill();
  rmSync(folder, { recursive: true, force: true });
}
for (const fault of faults) say(`FAULT ${fault}`);
process.exit(faults.length === 0 ? 0 : 1);

/** One cluster, whose servers know each other by their routes. */
async function startBrokers(): Promise<Broker[]> {
  const ports = await Promise.all(
    SERVERS.map(async () => ({ client: await freePort(), route: await freePort() })),
  );
  const routes = ports.map(({ route }) => `"nats://127.0.0.1:${route}"`).join(', ');
  return Promise.all(
    SERVERS.map(async (name, i) => {
      const { client, route } = ports[i]!;
      const file = join(folder, `${name}.conf`);
      writeFileSync(
        file,
        `server_name: ${name}
listen: "127.0.0.1:${client}"
jetstream { store_dir: "${join(folder, name)}", max_file_store: 1GB }
cluster { name: feed, listen: "127.0.0.1:${route}", routes: [${routes}] }
`,
      );
      return { name, server: await runNats(file, `127.0.0.1:${client}`, join(folder, name)) };
    }),
  );
}

/** The server that leads the stream; before there is one, the account. */
async function leader(): Promise<string | undefined> {
  const connection = await connect({ servers, timeout: 2_000 });
  try {
    const manager = await jetstreamManager(connection, { timeout: 2_000 });
    const info = await manager.streams.info(STREAMS.feed).catch(() => null);
    return info === null ? 'none' : info.cluster?.leader;
  } finally {
    await connection.close();
  }
}

function openBus(name: string, isControl: boolean) {
  const bus = openNatsBus({
    servers,
    inboxPrefix: `_INBOX.${name}`,
    streams: isControl ? { replicas: 3, feedOctets: 64 * 1_048_576, chunkOctets: 64 * 1_048_576 } : null,
    onError: () => count(`${name}: an error of the broker`),
  });
  closing.push(() => bus.close());
  return bus;
}

function count(what: string): void {
  told.set(what, (told.get(what) ?? 0) + 1);
}

/** A publisher over a log in memory, and nodes that follow it. */
async function startFeed() {
  const clock = Date.now;
  const origin = createFakeSource(0, clock);
  const control = openBus('control', true);
  await inState(control, 'connected');
  const parts = { source: origin, bus: control, secrets: () => testSecrets, clock };
  const leading = Promise.withResolvers<void>();
  const publisher = startPublisher({
    ...parts,
    lock: freeLock,
    verifier,
    onEvent(event) {
      count(`publisher: ${event}`);
      if (event === 'leading') leading.resolve();
    },
  });
  const stopAnswers = startResponder({ source: origin, end: testEnd(control, clock) });
  closing.push(() => publisher.stop(), stopAnswers);
  await leading.promise;
  const applied = new Map<number, number>();
  const cursors = new Array<number>(NODES).fill(0);
  for (let i = 0; i < NODES; i++) {
    const bus = openBus(`node${i}`, false);
    await inState(bus, 'connected');
    const source = openBusSource({
      bus,
      rpc: testRpc(bus, `node${i}`, clock),
      verifier,
      keys: () => testKeys,
      clock,
      onRefused: (reason) => count(`node ${i} refused: ${reason}`),
      onRepair: (from) => count(`node ${i}: a repair from ${from}`),
    });
    let isRebuilt = false;
    const follower = startFollower({
      source,
      view: createMemoryView(),
      clock,
      onState(state) {
        isRebuilt = state === 'rebuilding';
        if (isRebuilt) count(`node ${i}: a view built anew`);
      },
      onApplied(changes, cursor) {
        const first = changes[0]?.seq ?? cursor + 1;
        const missed = first - 1 - cursors[i]!;
        if (isRebuilt) inViews += missed;
        else if (missed !== 0) faults.push(`node ${i}: change ${first} after ${cursors[i]}`);
        cursors[i] = cursor;
        for (const { seq } of changes) {
          const writtenAt = applied.get(seq);
          if (writtenAt !== undefined) late.push(performance.now() - writtenAt);
        }
      },
    });
    closing.push(
      () => source.close(),
      () => follower.stop(),
    );
    await follower.ready;
  }
  return { write: (key: string) => origin.write(upserted(key, 'x')), applied, cursors, publisher, control };
}

/** @returns how many were written */
async function writeUntil(
  end: number,
  write: (key: string) => void,
  applied: Map<number, number>,
): Promise<number> {
  let written = 0;
  const began = performance.now();
  while (performance.now() < end) {
    applied.set(++written, performance.now());
    write(`key-${written % 1_000}.ns.v1`);
    await sleep(Math.max(0, began + written * WRITE_EVERY_MS - performance.now()));
  }
  return written;
}
