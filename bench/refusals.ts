/**
 * Whether the time of an answer tells a stranger what there is in private namespaces. Pairs of questions past the packet cache, of something that exists
 * and of something that does not, in random order, through the query path over an LMDB view, without sockets. Prints both distributions and the z
 * value of Mann and Whitney's test: within +-3 the two cannot be told apart by so many questions.
 *
 *   node bench/refusals.ts [PAIRS]
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRecorder } from '../src/dns/accounting/recorder.ts';
import { makePacketHandler } from '../src/dns/query/packet.ts';
import { spellQueryToken } from '../src/protocol/query/query-token.ts';
import { announcedApply, createFreshness } from '../src/view/freshness.ts';
import { openLmdbReader } from '../src/view/reader.ts';
import { openLmdbWriter } from '../src/view/writer.ts';
import { queryOf, START, zoneOf } from '../test/support/dns/query/signed-node.ts';
import { minted, namespaceUpserted, upserted } from '../test/support/view/view-changes.ts';
import { mannWhitney, median, print, quantile, row } from './lib/figures.ts';

const PAIRS = Number(process.argv[2] ?? 20_000);
/** Pairs before the first that counts: the engine compiles meanwhile. */
const WARM = 2000;
const ALL = PAIRS + WARM;
const TXT = 16;
const A = 1;
/** Changes of one commit. */
const BATCH = 1000;
/** Questions between two hand-overs of what was counted, which a server makes once a second. */
const COUNTED = 5000;

const dir = mkdtempSync(join(tmpdir(), 'uqrp-refusals-'));
const freshness = createFreshness();
const writer = openLmdbWriter({ path: dir, freshness, empty: true });
const apply = announcedApply(writer, freshness);
const randomToken = (): string => spellQueryToken(randomBytes(32));
const [ended, elsewhere] = [randomToken(), randomToken()];
/** As many namespaces exist, and as many do not. */
const NAMESPACES = 64;
/** Of two letters the one that exists, by turns, or the other: what a letter itself costs is no matter of existence. */
const letter = (i: number, exists: boolean): string => ((i % 2 === 0) === exists ? 'a' : 'b');
const recordAt = (i: number, exists: boolean): string =>
  `${letter(i, exists)}${String(i).padStart(8, '0')}.site.own.v1`;
const namespaceAt = (i: number, exists: boolean): string =>
  `space-${letter(i, exists)}-${String(i % NAMESPACES).padStart(2, '0')}`;
const newIn = (i: number, namespace: string): string => `c${String(i).padStart(8, '0')}.site.${namespace}.v1`;

/** A name below which a record or namespace exists or not. All are asked once, so that none is in the packet cache. @param i number of the pair */
type Name = (i: number, exists: boolean) => string;
const inNamespace: Name = (i, exists) => newIn(i, namespaceAt(i, exists));
const nothing: Name = (i, exists) => newIn(i, `nobody-${letter(i, exists)}`);

const CASES: readonly (readonly [what: string, qtype: number, label: () => string, name: Name])[] = [
  ['record, no token', TXT, () => 'get.', recordAt],
  ['record, unknown token', TXT, () => `get.auth-${randomToken()}.`, recordAt],
  ['record, ended token', TXT, () => `get.auth-${ended}.`, recordAt],
  ['record, other token', TXT, () => `get.auth-${elsewhere}.`, recordAt],
  ['record, type A', A, () => 'get.', recordAt],
  ['namespace, no token', TXT, () => 'get.', inNamespace],
  ['namespace, unknown token', TXT, () => `get.auth-${randomToken()}.`, inNamespace],
  ['namespace, other token', TXT, () => `get.auth-${elsewhere}.`, inNamespace],
  ['namespace, type A', A, () => 'get.', inNamespace],
  ['nothing: the noise', TXT, () => 'get.', nothing],
];

try {
  let seq = 1;
  await apply(
    [
      namespaceUpserted('own'),
      namespaceUpserted('else'),
      ...Array.from({ length: NAMESPACES }, (_, i) =>
        namespaceUpserted(namespaceAt(i, true), false, false, randomUUID()),
      ),
      minted('own', ended, START - 1),
      minted('else', elsewhere),
    ],
    seq,
  );
  for (let i = 0; i < ALL; i += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, ALL - i) }, (_, j) =>
      upserted(recordAt(i + j, true), 'hello'),
    );
    await apply(records, ++seq);
  }
  const reader = openLmdbReader({ path: dir, freshness });
  const clock = { now: START };
  const recorder = createRecorder({ startedAt: START, onQuery() {} });
  const handler = makePacketHandler({
    view: reader,
    access: { sync: true, demo: false },
    services: new Map(),
    identity: 'bench',
    accounting: recorder,
    freshness,
    clock: () => clock.now,
    zones: zoneOf(null, clock),
  });
  const out = Buffer.alloc(4096);
  let asked = 0;
  function timeOf(name: string, qtype: number): number {
    const packet = queryOf(`${name}.uqrp.net`, { qtype, dnssecOk: false });
    if (++asked % COUNTED === 0) recorder.handOver(START);
    const began = process.hrtime.bigint();
    if (handler.hot(packet, packet.length, 'udp', out) > 0) throw new Error(`${name} is in the cache`);
    if (handler.slow(packet, 'udp', false) instanceof Promise) throw new Error(`${name} waits`);
    return Number(process.hrtime.bigint() - began) / 1000;
  }

  // All kinds together, so that what the machine does meanwhile concerns all alike.
  const times = CASES.map(() => [[], []] as [exists: number[], missing: number[]]);
  for (let i = 0; i < ALL; i++) {
    const first = randomInt(CASES.length);
    for (let j = 0; j < CASES.length; j++) {
      const at = (first + j) % CASES.length;
      const [, qtype, label, name] = CASES[at]!;
      const one = randomInt(2) as 0 | 1;
      for (const which of [one, (1 - one) as 0 | 1]) {
        const us = timeOf(label() + name(i, which === 0), qtype);
        if (i >= WARM) times[at]![which].push(us);
      }
    }
  }
  print(`${PAIRS} pairs; microseconds of a question that the packet cache does not answer`);
  print(row(['', 'median', 'p10', 'p90', 'missing', 'p10', 'p90', 'z']));
  for (const [at, [what]] of CASES.entries()) {
    const figures = times[at]!.flatMap((values) => [
      median(values),
      quantile(values, 0.1),
      quantile(values, 0.9),
    ]);
    print(row([what.padEnd(26), ...figures, mannWhitney(...times[at]!)]));
  }
  await reader.close();
} finally {
  await writer.close();
  rmSync(dir, { recursive: true, force: true });
}
