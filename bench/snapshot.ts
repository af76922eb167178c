/**
 * From a view to a snapshot at the broker and back to a view: how long each step takes, and when a new node is level with a log that has gone
 * on since the snapshot. Maker, publisher and node are in this process, the broker is a `nats-server`.
 *
 *   node bench/snapshot.ts [records] [changes since the snapshot]
 *
 * 10^6 records take a minute and 0.5 GB of disk, 10^7 ten times that.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readParts } from '../src/base/files.ts';
import { openNatsBus } from '../src/feed/bus/nats/nats-bus.ts';
import { startFollower } from '../src/feed/follower/follower.ts';
import type { ChangeSource } from '../src/feed/ports/change-source.ts';
import { startPublisher } from '../src/feed/publish/publisher.ts';
import { startResponder } from '../src/feed/publish/responder.ts';
import { openBusSource } from '../src/feed/receive/bus-source.ts';
import { diskFiles } from '../src/feed/snapshots/shared-files.ts';
import { createSnapshotWriter } from '../src/feed/snapshots/snapshot-maker.ts';
import { createSnapshotReader, snapshotSource } from '../src/feed/snapshots/snapshot-reader.ts';
import type { Change, ChangeBody } from '../src/protocol/change.ts';
import { FILE_FORMAT } from '../src/view/lmdb/tree.ts';
import { openLmdbWriter } from '../src/view/writer.ts';
import { EPOCH, verifier } from '../test/support/feed/batch/messages.ts';
import {
  freeLock,
  testEnd,
  testKeys,
  testRpc,
  testSecrets,
} from '../test/support/feed/bus/bus-source-world.ts';
import { inState } from '../test/support/feed/bus/bus-suite.ts';
import { runNats } from '../test/support/feed/bus/nats-server.ts';
import { freePort } from '../test/support/free-port.ts';
import { print } from './lib/figures.ts';
import { megabytesOf, pagesOf, recordAt } from './lib/growth-data.ts';

const RECORDS = Number(process.argv[2] ?? 1_000_000);
const CHANGES = Number(process.argv[3] ?? 20_000);
const OCTETS = 64 * 2 ** 30;
const clock = Date.now;
const folder = mkdtempSync(join(tmpdir(), 'uqrp-snapshot-'));

/** A log that begins after the records, and has the changes that were written by now. */
let head = RECORDS;
const listeners = new Set<(seq: number) => void>();
const log: ChangeSource = {
  bounds: async () => ({ epoch: EPOCH, oldest: RECORDS + 1, head }),
  since: async (_epoch, seq, limit) =>
    Array.from({ length: Math.max(0, Math.min(limit, head - seq)) }, (_, i) => changeAt(seq + 1 + i)),
  openSnapshot: async () => ({
    epoch: EPOCH,
    seq: RECORDS,
    pages: withNoise(pagesOf(RECORDS)),
    end: async () => ({ epoch: EPOCH, head }),
  }),
  onChange(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  heardAt: clock,
};

const noise = new Uint32Array(25);
let state = 1;

/** 100 octets that no compression makes shorter, as ciphertext is. */
function payload(): string {
  for (let i = 0; i < noise.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    noise[i] = state;
  }
  return Buffer.from(noise.buffer).toString('base64');
}

async function* withNoise(pages: AsyncIterable<readonly ChangeBody[]>): AsyncIterable<readonly ChangeBody[]> {
  for await (const page of pages)
    yield page.map((body) => (body.type === 'record.upserted' ? { ...body, data: payload() } : body));
}

function changeAt(seq: number): Change {
  const body = recordAt((seq * 7_919) % RECORDS);
  return { ...body, seq, at: clock(), owner: null, cause: 'direct' } as Change;
}

async function timed<T>(what: string, work: () => Promise<T>, more: (result: T) => string): Promise<T> {
  const from = performance.now();
  const result = await work();
  print(
    `${what.padEnd(28)}${((performance.now() - from) / 1_000).toFixed(2).padStart(9)} s  ${more(result)}`,
  );
  return result;
}

const server = await startBroker();
const open = (name: string, isControl: boolean) =>
  openNatsBus({
    servers: [server.address],
    inboxPrefix: `_INBOX.${name}`,
    streams: isControl ? { replicas: 1, feedOctets: OCTETS, chunkOctets: OCTETS } : null,
    onError: (error) => process.stderr.write(`${String(error)}\n`),
  });

try {
  print(
    `${RECORDS.toLocaleString('en')} records, ${CHANGES.toLocaleString('en')} changes since the snapshot`,
  );
  const control = open('control', true);
  await inState(control, 'connected');
  const path = join(folder, 'made');
  const view = openLmdbWriter({ path });
  await timed(
    'view from pages',
    async () => {
      const follower = startFollower({ source: log, view, clock });
      await follower.ready;
      await follower.stop();
    },
    () => '',
  );
  const copy = join(folder, 'copy');
  const { file } = await timed(
    'compact copy',
    () => view.copyTo(copy),
    (made) => `${megabytesOf(made.file).toFixed(0)} MB`,
  );
  const writer = createSnapshotWriter({ bus: control, secrets: () => testSecrets, verifier, clock });
  await timed(
    'put at the broker',
    () =>
      writer.put({ kind: 'view', epoch: EPOCH, seq: RECORDS, format: FILE_FORMAT, content: readParts(file) }),
    ({ partOctets, parts }) => `${(partOctets / 1e6).toFixed(0)} MB in ${parts} parts`,
  );
  await view.close();
  rmSync(copy, { recursive: true });
  rmSync(path, { recursive: true });

  const publisher = startPublisher({
    source: log,
    bus: control,
    lock: freeLock,
    secrets: () => testSecrets,
    verifier,
    clock,
    onEvent: (event) => event === 'leading' || print(`publisher: ${event}`),
  });
  const stopAnswers = startResponder({ source: log, end: testEnd(control, clock) });
  while (publisher.status().seq === null) await pause(10);
  await timed(
    'changes into the stream',
    async () => {
      head += CHANGES;
      for (const listener of listeners) listener(head);
      while (publisher.status().seq !== head || publisher.status().unconfirmed > 0) await pause(10);
    },
    () => '',
  );
  await measureNode(join(folder, 'node'));
  stopAnswers();
  await publisher.stop();
  await control.close();
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

/** With room for everything: the broker of the tests has a quarter of a gigabyte. */
async function startBroker() {
  const address = `127.0.0.1:${await freePort()}`;
  const dir = join(folder, 'broker');
  const file = join(folder, 'nats-server.conf');
  writeFileSync(
    file,
    `listen: "${address}"\njetstream { store_dir: "${dir}", max_file_store: ${4 * OCTETS} }\n`,
  );
  return runNats(file, address, dir);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A node with an empty disk. */
async function measureNode(dir: string): Promise<void> {
  const bus = open('node', false);
  await inState(bus, 'connected');
  const keys = () => testKeys;
  const source = openBusSource({ bus, rpc: testRpc(bus, 'node', clock), verifier, keys, clock });
  const reader = createSnapshotReader({ bus, verifier, keys, files: diskFiles(join(dir, 'incoming')) });
  const from = performance.now();
  let downloadedMs = 0;
  const files = snapshotSource({
    source,
    reader,
    format: FILE_FORMAT,
    clock,
    onDownloaded() {
      downloadedMs = performance.now() - from;
    },
  });
  const view = openLmdbWriter({ path: join(dir, 'view') });
  const follower = startFollower({
    source: files,
    view,
    clock,
    onFailing: (fault, _, error) => print(`node: ${fault} ${String(error)}`),
  });
  const spent = process.cpuUsage();
  await timed(
    'a new node is level',
    () => follower.ready,
    () => {
      const { user, system } = process.cpuUsage(spent);
      // On a busy machine the rest is waiting for a processor.
      return `after a download of ${(downloadedMs / 1_000).toFixed(2)} s, ${((user + system) / 1e6).toFixed(2)} s of a processor; ${RECORDS + CHANGES === view.cursor()}`;
    },
  );
  await follower.stop();
  source.close();
  await view.close();
  await bus.close();
}
