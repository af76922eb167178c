/** The control side of bench/nodes.ts: a store, its publisher and responder. The parent says when they start and how much is written. */
import { randomUUID } from 'node:crypto';
import { openNatsBus } from '../../src/feed/bus/nats/nats-bus.ts';
import { startPublisher } from '../../src/feed/publish/publisher.ts';
import { startResponder } from '../../src/feed/publish/responder.ts';
import type { ChangeBody } from '../../src/protocol/change.ts';
import { appendChanges, type NewChange } from '../../src/store/log/change-log.ts';
import { openStore } from '../../src/store/open.ts';
import { verifier } from '../../test/support/feed/batch/messages.ts';
import { freeLock, testEnd, testSecrets, until } from '../../test/support/feed/bus/bus-source-world.ts';
import { SMALL_STREAMS } from '../../test/support/feed/bus/nats-world.ts';
import { upserted } from '../../test/support/view/view-changes.ts';

export type Order =
  | { readonly do: 'publish' | 'cpu' | 'stop' }
  | { readonly do: 'write'; readonly rate: number };

const parent = (message: object): unknown => process.send!(message);
const [dataDir, databaseUrl, broker, units] = process.argv.slice(2) as [string, string, string, string];
const TICK_MS = 1000 / Number(units);
const PAYLOAD = 'x'.repeat(100);
const OWNER = randomUUID();

const report = (error: unknown): boolean => process.stderr.write(`${String(error)}\n`);
const store = await openStore({
  dataDir,
  databaseUrl: databaseUrl === '' ? null : databaseUrl,
  clock: Date.now,
});
const bus = openNatsBus({
  servers: [broker],
  inboxPrefix: '_INBOX.control',
  streams: SMALL_STREAMS,
  onError: report,
});
let rate = 0;
let written = 0;
let stopFeed = async (): Promise<void> => {};

async function publish(): Promise<void> {
  await until(() => bus.state() === 'connected');
  const common = { source: store.changes, bus, secrets: () => testSecrets, clock: Date.now };
  const onEvent = (event: string, error?: unknown): void => {
    if (event !== 'leading' && event !== 'stepped_back') report(`${event} ${String(error)}`);
  };
  const publisher = startPublisher({ ...common, lock: freeLock, verifier, onEvent });
  const stopAnswers = startResponder({ source: store.changes, end: testEnd(bus, Date.now) });
  await until(() => publisher.status().seq !== null);
  stopFeed = async () => {
    stopAnswers();
    await publisher.stop();
  };
}

function record(key: string): Extract<ChangeBody, { type: 'record.upserted' }> {
  const body = upserted(key, PAYLOAD);
  if (body.type !== 'record.upserted') throw new Error('not a record');
  return body;
}

/** The changes of a unit of work are written together, as those of a bulk write are. */
async function writeLoop(): Promise<void> {
  let [startedAt, begun, last] = [performance.now(), 0, 0];
  for (; rate >= 0; await new Promise((resolve) => setTimeout(resolve, TICK_MS))) {
    if (last !== rate) [startedAt, begun, last] = [performance.now(), written, rate];
    const due = begun + Math.floor(((performance.now() - startedAt) / 1000) * rate) - written;
    if (due <= 0) continue;
    await store.write(async (tx) => {
      const changes: NewChange[] = Array.from({ length: due }, (_, i) => ({
        ...record(`r${(written + i) % 100_000}.bench.v1`),
        owner: OWNER,
        cause: 'direct' as const,
      }));
      await appendChanges(tx, changes, Date.now());
    });
    written += due;
  }
}

const writing = writeLoop();
process.on('disconnect', () => process.exit());
process.on('message', (order: Order) => void obey(order));
parent({ ready: true });

async function obey(order: Order): Promise<void> {
  if (order.do === 'publish') await publish();
  if (order.do === 'write') rate = order.rate;
  if (order.do === 'stop') {
    rate = -1;
    await writing;
    await stopFeed();
    await bus.close();
    await store.close();
    process.disconnect?.();
    return;
  }
  const { user, system } = process.cpuUsage();
  parent({ seconds: (user + system) / 1e6, written });
}
