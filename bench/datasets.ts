/**
 * One million items with three windows each, and as many hosted records, in the LMDB view, loaded through the
 * follower. Prints memory, and the cost of an identity query against that of a hosted record.
 *
 *   node bench/datasets.ts [items]
 *
 * One child process writes the file, another opens and measures it, so that no memory of the writer counts. Both kinds of
 * query go through the packet handler without its cache, in rounds that alternate.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { datasetService } from '../src/dns/query/operations.ts';
import { makePacketHandler } from '../src/dns/query/packet.ts';
import { startFollower } from '../src/feed/follower/follower.ts';
import { servedZones } from '../src/process/node/served-zones.ts';
import type { ChangeBody } from '../src/protocol/change.ts';
import { encodeQuery } from '../src/protocol/dns/message/message.ts';
import { nameFromText } from '../src/protocol/dns/name.ts';
import { createFreshness } from '../src/view/freshness.ts';
import { openLmdbReader } from '../src/view/reader.ts';
import { openLmdbWriter } from '../src/view/writer.ts';
import {
  facts,
  itemsAdded,
  keyAdded,
  manifestOf,
  published,
  versionIdOf,
} from '../test/support/view/datasets/dataset-changes.ts';
import { namespaceUpserted, upserted } from '../test/support/view/view-changes.ts';
import { runViewSteps } from './lib/view-steps.ts';

const ITEMS = Number(process.argv[2] ?? 1_000_000);
const RECORDS = ITEMS;
const PAGE = 100;
const ROUNDS = 11;
const QUERIES = 4000;
const TXT = 16;
const YEAR = 31_556_952;
const VERSION = versionIdOf(1);

/** Visits 0 to n - 1 in an order that follows neither keys nor pages. */
const shuffled = (i: number, n: number): number => (i * 611_953) % n;
const gtinOf = (i: number): string => String(4_000_000_000_000 + i * 7).padStart(13, '0');

function itemAt(i: number) {
  const year = 1_400_000_000 + (i % 5) * YEAR;
  const windows = [
    facts(null, year, { issuer: `Issuer ${i % 1000}`, brand: `Brand ${i}`, type: 'unit' }),
    facts(year, year + 3 * YEAR, { issuer: `Issuer ${i % 777}`, brand: `Brand ${i}`, type: 'unit' }),
    facts(year + 3 * YEAR, null, { issuer: `Issuer ${i % 555}`, brand: `Brand ${i}`, type: 'case' }),
  ];
  return { item: gtinOf(i), windows };
}

async function* snapshot(): AsyncIterable<readonly ChangeBody[]> {
  yield [namespaceUpserted('shop', true), keyAdded(1, 1_700_000_000)];
  for (let from = 0; from < RECORDS; from += PAGE) {
    yield Array.from({ length: PAGE }, (_, i) =>
      upserted(`k${shuffled(from + i, RECORDS)}.catalog.shop.v1`, 'x'.repeat(150)),
    );
  }
  for (let from = 0; from < ITEMS; from += PAGE) {
    yield [itemsAdded(VERSION, ...Array.from({ length: PAGE }, (_, i) => itemAt(shuffled(from + i, ITEMS))))];
  }
  yield [published(VERSION, manifestOf('gtin-bench', '1.0.0'))];
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function memory(): string {
  const status = readFileSync('/proc/self/status', 'latin1');
  const mebibytes = (name: string): number =>
    Math.round(Number(new RegExp(`${name}:\\s*(\\d+)`).exec(status)?.[1]) / 1024);
  return ['VmHWM', 'VmRSS', 'RssAnon', 'RssFile'].map((name) => `${name} ${mebibytes(name)} MiB`).join(', ');
}

async function build(path: string): Promise<void> {
  const started = performance.now();
  const view = openLmdbWriter({ path });
  const follower = startFollower({
    source: {
      bounds: async () => ({ epoch: 'bench', oldest: 1, head: 1 }),
      since: async () => [],
      openSnapshot: async () => ({ epoch: 'bench', seq: 1, pages: snapshot() }),
      onChange: () => () => {},
      heardAt: Date.now,
    },
    view,
    clock: Date.now,
  });
  await follower.ready;
  const seconds = (performance.now() - started) / 1000;
  print(`rebuild    ${seconds.toFixed(1)} s (${Math.round(ITEMS / seconds)} items/s), ${memory()}`);
  await follower.stop();
  await view.close();
  print(`file       ${(statSync(join(path, '2.mdb')).size / 1e6).toFixed(0)} MB`);
}

async function measure(path: string): Promise<void> {
  const writer = openLmdbWriter({ path, wipeAfterMs: 0 });
  const freshness = createFreshness();
  const view = openLmdbReader({ path });
  const handler = makePacketHandler({
    view,
    access: { sync: true, demo: false },
    services: new Map([['datasets', datasetService(view.datasets, { asOf: true })]]),
    zones: servedZones({
      zones: ['uqrp.net'],
      nameServers: [{ label: 'ns1', addresses: ['192.0.2.1'] }],
      mode: 'full',
      keys: [],
      clock: Date.now,
    }),
    identity: 'bench',
    freshness,
    clock: Date.now,
  });
  print(`ready      ${memory()}`);
  const queries = (nameOf: (i: number) => string): Uint8Array[] =>
    Array.from({ length: QUERIES }, (_, i) =>
      encodeQuery(nameFromText(`${nameOf(i)}.uqrp.net.`)!, TXT, {
        id: i & 0xffff,
        rd: true,
        cd: false,
        qclass: 1,
        edns: null,
      }),
    );
  const kinds = {
    hosted: queries((i) => `get.k${shuffled(i, RECORDS)}.catalog.shop.v1`),
    identity: queries((i) => `identity.gtin-bench-k-${gtinOf(shuffled(i * 31, ITEMS))}.datasets.public.v1`),
    'as-of': queries(
      (i) => `identity.gtin-bench-k-${gtinOf(shuffled(i * 31, ITEMS))}-t-2015-01-01.datasets.public.v1`,
    ),
  };
  const costs = new Map<string, number[]>(Object.keys(kinds).map((kind) => [kind, []]));
  for (let round = 0; round < ROUNDS; round++) {
    const order = Object.entries(kinds);
    if (round % 2 === 1) order.reverse();
    for (const [kind, packets] of order) {
      const before = process.cpuUsage();
      for (const [i, packet] of packets.entries()) {
        const reply = handler.slow(packet, 'tcp', true);
        if (!(reply instanceof Uint8Array) || reply[7] !== 1) throw new Error(`${kind} ${i} has no answer`);
        if (i % 100 === 0) await nextTurn();
      }
      const { user, system } = process.cpuUsage(before);
      // The first rounds compile the code and read the pages.
      if (round >= 3) costs.get(kind)!.push((user + system) / packets.length);
    }
  }
  const median = (kind: string): number =>
    costs.get(kind)!.sort((a, b) => a - b)[Math.floor((ROUNDS - 3) / 2)]!;
  for (const kind of costs.keys()) {
    print(
      `${kind.padEnd(10)} ${median(kind).toFixed(2)} us CPU a query, ${(median(kind) / median('hosted')).toFixed(2)} x a hosted record`,
    );
  }
  print(`after      ${memory()}`);
  await view.close();
  await writer.close();
}

await runViewSteps(import.meta.filename, [build, measure]);
