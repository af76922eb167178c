/**
 * What a proof and a checkpoint of the transparency log cost a DNS node, against a manifest: CPU of one answer past the packet cache and from it,
 * over a view of LMDB with datasets and proofs. Rounds alternate, and the ratio is the median of theirs.
 *
 *   node bench/log-answers.ts [rounds] [answers]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { datasetService } from '../src/dns/query/operations.ts';
import { openLmdbReader } from '../src/view/reader.ts';
import { openLmdbWriter } from '../src/view/writer.ts';
import { queryOf, START, signedNode, zoneOf } from '../test/support/dns/query/signed-node.ts';
import {
  checkpointed,
  keyAdded,
  manifestOf,
  proved,
  published,
  versionIdOf,
} from '../test/support/view/datasets/dataset-changes.ts';
import { median, print, row, spread } from './lib/figures.ts';

const [rounds = 15, answers = 4000] = process.argv.slice(2).map(Number);
const DATASETS = 200;
/** As with 10^6 entries and three witnesses: 2,161 octets of the TXT value. */
const PROOF = 'p'.repeat(1590);
const SMALL_PROOF = 'p'.repeat(600);
/** A manifest whose TXT value is as long as that of `PROOF`: its octets cost the same on the way out. */
const LONG_URL = `https://example.net/${'u'.repeat(1740)}`;
const CHECKPOINT = 'c'.repeat(700);
/** The bar. */
const LIMIT = 1.1;

const names = {
  manifest: (n: number) => `manifest.set-${n % DATASETS}-v-1d2d0`,
  'long manifest': (n: number) => `manifest.long-${n % DATASETS}-v-1d2d0`,
  'small proof': (n: number) => `manifest.long-${n % DATASETS}-v-1d2d0.log`,
  'proof of a million': (n: number) => `manifest.set-${n % DATASETS}-v-1d2d0.log`,
  'its latest': (n: number) => `manifest.set-${n % DATASETS}.log`,
  checkpoint: () => 'manifest.log',
} as const;
type Asked = keyof typeof names;

const folder = mkdtempSync(join(tmpdir(), 'uqrp-log-answers-'));
const path = join(folder, 'view');
const writer = openLmdbWriter({ path });
await writer.apply(
  [
    keyAdded(1, 1_800_000_000),
    checkpointed(CHECKPOINT),
    ...Array.from({ length: DATASETS }, (_, n) => [
      published(versionIdOf(n), manifestOf(`set-${n}`, '1.2.0')),
      proved(versionIdOf(n), PROOF),
      published(versionIdOf(DATASETS + n), { ...manifestOf(`long-${n}`, '1.2.0'), url: LONG_URL }),
      proved(versionIdOf(DATASETS + n), SMALL_PROOF),
    ]).flat(),
  ],
  1,
);
const reader = openLmdbReader({ path });
const clock = { now: START };

/** Microseconds of CPU for one answer. */
function cost(answer: (query: Uint8Array) => void, queries: readonly Uint8Array[]): number {
  const before = process.cpuUsage();
  for (let n = 0; n < answers; n++) answer(queries[n % queries.length]!);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / answers;
}

function measure(what: string, isCached: boolean): void {
  const { handler } = signedNode({ zones: zoneOf(null, clock), view: reader }, clock, [
    datasetService(reader.datasets, { asOf: true, log: true }),
  ]);
  const out = Buffer.alloc(65_535);
  const slow = (query: Uint8Array): void => {
    const reply = handler.slow(query, 'tcp', true);
    if (!(reply instanceof Uint8Array) || (reply[3]! & 0x0f) !== 0 || reply[7] === 0)
      throw new Error('no answer');
  };
  const hot = (query: Uint8Array): void => {
    if (handler.hot(query, query.length, 'tcp', out) === 0) slow(query);
  };
  const asked = Object.keys(names) as Asked[];
  const queries = Object.fromEntries(
    asked.map((name) => [
      name,
      Array.from({ length: DATASETS }, (_, n) =>
        queryOf(`${names[name](n)}.datasets.public.v1.uqrp.net`, { dnssecOk: false }),
      ),
    ]),
  ) as Record<Asked, Uint8Array[]>;
  const costs = Object.fromEntries(asked.map((name) => [name, [] as number[]])) as Record<Asked, number[]>;
  const answer = isCached ? hot : slow;
  for (const name of asked) cost(answer, queries[name]);
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? asked : asked.toReversed())
      costs[name].push(cost(answer, queries[name]));
  }
  for (const name of asked) {
    const to = (other: Asked) =>
      spread(costs[name].map((micros, round) => micros / costs[other][round]!)).middle;
    print(
      row([
        `${what} ${name}`.padEnd(44),
        median(costs[name]),
        to('manifest'),
        to('long manifest'),
        String(LIMIT),
      ]),
    );
  }
}

print(row(['answer'.padEnd(44), 'us of CPU', 'to manifest', 'to long', 'bar']));
measure('past the cache', false);
measure('from the cache', true);
await reader.close();
await writer.close();
rmSync(folder, { recursive: true, force: true });
