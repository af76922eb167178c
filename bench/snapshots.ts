/**
 * A new node with a million records: a snapshot from the broker, compared with pages of control, over a local nats-server.
 *
 *   node bench/snapshots.ts [records]
 *
 * Control runs in this process and gives pages from memory, faster than a database. Each node runs in a child process of its own.
 */
import { randomFillSync } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openNatsBus } from '../src/feed/bus/nats/nats-bus.ts';
import { startFollower } from '../src/feed/follower/follower.ts';
import type { ChangeSource, ViewSource } from '../src/feed/ports/change-source.ts';
import { startResponder } from '../src/feed/publish/responder.ts';
import { openBusSource } from '../src/feed/receive/bus-source.ts';
import { diskFiles } from '../src/feed/snapshots/shared-files.ts';
import { createSnapshotWriter } from '../src/feed/snapshots/snapshot-maker.ts';
import { createSnapshotReader, snapshotSource } from '../src/feed/snapshots/snapshot-reader.ts';
import { FILE_FORMAT } from '../src/view/lmdb/file-format.ts';
import { openLmdbReader } from '../src/view/reader.ts';
import { openLmdbWriter } from '../src/view/writer.ts';
import { verifier } from '../test/support/feed/batch/messages.ts';
import { testEnd, testKeys, testRpc, testSecrets } from '../test/support/feed/bus/bus-source-world.ts';
import { inState } from '../test/support/feed/bus/bus-suite.ts';
import { startNats } from '../test/support/feed/bus/nats-server.ts';
import { keyAt, manyRecords } from './lib/many-records.ts';
import { runViewSteps } from './lib/view-steps.ts';

const RECORDS = Number(process.argv[2] ?? 1_000_000);
const DATA_BYTES = 96;
const EPOCH = 'bench';
const MEGABYTE = 1_048_576;
const LIMIT_SECONDS = 5;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Random payloads, which do not compress. */
const pages = () =>
  manyRecords({
    records: RECORDS,
    dataAt: () => randomFillSync(Buffer.alloc(DATA_BYTES)),
    isPublic: () => true,
  });

const store: ChangeSource = {
  bounds: async () => ({ epoch: EPOCH, oldest: 1, head: RECORDS }),
  since: async () => [],
  openSnapshot: async () => ({ epoch: EPOCH, seq: RECORDS, pages: pages() }),
  onChange: () => () => {},
  heardAt: Date.now,
};

function openBus(address: string, name: string, isControl: boolean) {
  const streams = { replicas: 1, feedOctets: 32 * MEGABYTE, chunkOctets: 192 * MEGABYTE };
  return openNatsBus({
    servers: [address],
    inboxPrefix: `_INBOX.${name}`,
    streams: isControl ? streams : null,
    onError: () => {},
  });
}

function peak(): string {
  const found = /VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  const anon = /RssAnon:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  return `peak RSS ${Math.round(Number(found) / 1024)} MiB with mapped pages, now ${Math.round(Number(anon) / 1024)} MiB without`;
}

const seconds = (from: number): number => (performance.now() - from) / 1000;

async function node(path: string, take: 'pages' | 'file'): Promise<void> {
  const bus = openBus(process.env.BENCH_NATS ?? '', take, false);
  await inState(bus, 'connected');
  const keys = () => testKeys;
  const log = openBusSource({
    bus,
    rpc: testRpc(bus, take, Date.now),
    verifier,
    keys,
    clock: Date.now,
  });
  const files = diskFiles(`${path}-incoming`);
  const reader = createSnapshotReader({ bus, verifier, keys, files });
  let downloaded = 0;
  const fromFile = snapshotSource({
    source: log,
    reader,
    format: FILE_FORMAT,
    clock: Date.now,
    onDownloaded: () => {
      downloaded = seconds(started);
    },
  });
  const source: ViewSource = take === 'file' ? fromFile : log;
  const started = performance.now();
  const view = openLmdbWriter({ path: `${path}-${take}` });
  const follower = startFollower({ source, view, clock: Date.now });
  await follower.ready;
  const hosted = openLmdbReader({ path: `${path}-${take}` });
  if (hosted.record(keyAt(RECORDS - 1)) === null) throw new Error('the view lacks a record');
  const took = seconds(started);
  if (take === 'file') {
    if (downloaded === 0) throw new Error('no snapshot was downloaded');
    print(
      `file        ${took.toFixed(2)} s, of which download and hash ${downloaded.toFixed(2)} s; ${peak()}`,
    );
    const pagesSeconds = Number(readFileSync(`${path}-seconds`, 'utf8'));
    print(`ratio       pages take ${(pagesSeconds / took).toFixed(1)} times as long`);
    print(`limit       ${LIMIT_SECONDS} s: ${took <= LIMIT_SECONDS ? 'kept' : 'MISSED'}`);
  } else {
    print(`pages       ${took.toFixed(2)} s; ${peak()}`);
    await makeSnapshot(`${path}-${take}`, view);
    (await import('node:fs')).writeFileSync(`${path}-seconds`, String(took));
  }
  await follower.stop();
  log.close();
  await hosted.close();
  await view.close();
  await bus.close();
  process.exit(0);
}

async function makeSnapshot(path: string, view: ReturnType<typeof openLmdbWriter>): Promise<void> {
  const bus = openBus(process.env.BENCH_NATS ?? '', 'maker', true);
  await inState(bus, 'connected');
  const writer = createSnapshotWriter({ bus, secrets: () => testSecrets, verifier, clock: Date.now });
  const started = performance.now();
  const copy = await view.copyTo(join(path, '..', 'copy'));
  const copied = seconds(started);
  const content = createReadStream(copy.file, { highWaterMark: MEGABYTE });
  const { octets, partOctets, parts } = await writer.put({
    kind: 'view',
    epoch: EPOCH,
    seq: RECORDS,
    format: FILE_FORMAT,
    content,
  });
  print(
    `made        ${seconds(started).toFixed(2)} s, of which copy ${copied.toFixed(2)} s; ${(octets / 1e6).toFixed(0)} MB, ` +
      `${(partOctets / 1e6).toFixed(0)} MB in ${parts} parts; ${peak()}`,
  );
  await rm(join(path, '..', 'copy'), { recursive: true });
  await bus.close();
}

async function fromPages(path: string): Promise<void> {
  await node(path, 'pages');
}

async function fromSnapshot(path: string): Promise<void> {
  await node(path, 'file');
}

if (process.env.VIEW_STEP !== undefined) await runViewSteps(import.meta.filename, [fromPages, fromSnapshot]);
else {
  const nats = await startNats();
  process.env.BENCH_NATS = nats.address;
  const bus = openBus(nats.address, 'control', true);
  await inState(bus, 'connected');
  const stop = startResponder({ source: store, end: testEnd(bus, Date.now) });
  try {
    await runViewSteps(import.meta.filename, [fromPages, fromSnapshot]);
  } finally {
    stop();
    await bus.close();
    await nats.remove();
  }
}
