/** SIGKILL of broker, control, edges and PostgreSQL at random moments, under writes; afterwards every view equals the store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFollower } from '../../../src/feed/follower/follower.ts';
import { openStore } from '../../../src/store/open.ts';
import { openLmdbWriter } from '../../../src/view/writer.ts';
import type { UdpAsker } from '../feed/udp-asker.ts';
import { type ViewContents, viewContents } from '../view/view-contents.ts';
import type { Member, OwnCluster } from './cluster.ts';
import { compareWithLimit, waitFor } from './measure.ts';
import type { Prober } from './prober.ts';

export interface FaultRounds {
  readonly cluster: OwnCluster;
  readonly askers: readonly UdpAsker[];
  readonly prober: Prober;
  readonly rounds: number;
  readonly seed: number;
  readonly say: (text: string) => void;
}

interface Target {
  readonly name: string;
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Milliseconds from the moment when everything runs again. */
const CAUGHT_UP_MS = 5_000;
const ALONE_MS = 5_000;

/** @returns what was not as it should be */
export async function faultRounds(options: FaultRounds): Promise<readonly string[]> {
  const { cluster, rounds, seed, say } = options;
  const faults: string[] = [];
  const random = randomOf(seed);
  const { broker, database, controls, edges } = cluster;
  const all: Target[] = [
    { name: 'broker', kill: () => broker.kill(), start: () => broker.start() },
    { name: 'PostgreSQL', kill: () => database.kill(), start: () => database.start() },
    ...controls,
    ...edges,
  ];
  const groups: Target[][] = [...all.map((one) => [one]), [...controls], [...all]];
  const writer = startWriter(cluster);
  for (let round = 0; round < rounds; round++) {
    // Each group comes once before any comes again.
    const targets = groups[round % groups.length]!;
    await sleep(random() * 1_000);
    await Promise.all(targets.map((target) => target.kill()));
    await sleep(random() * 1_500);
    await startAll(targets);
    const runningAt = performance.now();
    await writer.pause();
    const settled = await waitFor('views', () => areLevel(cluster), 60_000);
    const names = targets.length === all.length ? 'everything' : targets.map(({ name }) => name).join(', ');
    say(
      `round ${round}: killed ${names}; level ${Math.round(performance.now() - runningAt)} ms after the restart`,
    );
    const late = compareWithLimit(`round ${round}, ${names}: caught up`, settled, CAUGHT_UP_MS);
    if (late.note !== null) say(late.note);
    if (late.fault !== null) faults.push(late.fault);
    faults.push(...(await compare(cluster)).map((fault) => `round ${round}, ${names}: ${fault}`));
    writer.go();
  }
  await writer.stop();
  say(`${writer.acknowledged()} writes were acknowledged, ${writer.failed()} failed`);
  faults.push(...(await startAlone(options)));
  return faults;
}

/** A member needs the others to start: what carries first. */
async function startAll(targets: readonly Target[]): Promise<void> {
  const isMember = (target: Target): target is Member => 'dataDir' in target;
  await Promise.all(targets.filter((target) => !isMember(target)).map((target) => target.start()));
  await Promise.all(targets.filter(isMember).map((target) => target.start()));
}

/** Writes and deletes records, one after the other, through whichever control process answers. */
function startWriter({ customers }: OwnCluster) {
  let isRunning = true;
  let isPaused = false;
  let idle = Promise.withResolvers<void>();
  let acknowledged = 0;
  let failed = 0;
  async function run(): Promise<void> {
    for (let n = 0; isRunning; n++) {
      if (isPaused) {
        idle.resolve();
        await sleep(20);
        continue;
      }
      const customer = customers[n % customers.length]!;
      const records = Array.from({ length: 20 }, (_, i) => ({
        key: `fault-${(n * 20 + i) % 2_000}.bulk.v1`,
        data: Buffer.from(`${n} ${i}`).toString('base64'),
      }));
      const status = await customer.call('POST', '/records/bulk', { records }).then(
        (answer) => answer.status,
        () => 0,
      );
      if (status === 200) acknowledged++;
      else failed++;
      await sleep(20);
    }
    idle.resolve();
  }
  const ended = run();
  return {
    acknowledged: () => acknowledged,
    failed: () => failed,
    async pause() {
      idle = Promise.withResolvers();
      isPaused = true;
      await idle.promise;
    },
    go() {
      isPaused = false;
    },
    async stop() {
      isRunning = false;
      await ended;
    },
  };
}

/** Whether all edges say that they are current and have the same head as control publishes. */
async function areLevel({ edges, controls }: OwnCluster): Promise<boolean> {
  const states = await Promise.all(edges.map(({ httpPort }) => readyz(httpPort)));
  if (!states.every(({ ready, stale, lag }) => ready && stale === false && lag?.changes === 0)) return false;
  const ready = await Promise.all(controls.map(({ httpPort }) => readyz(httpPort)));
  return ready.every((state) => state.ready);
}

interface Ready {
  readonly ready: boolean;
  readonly stale?: boolean;
  readonly lag?: { readonly changes: number };
}

async function readyz(port: number): Promise<Ready> {
  const reply = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2_000) });
  return (await reply.json()) as Ready;
}

/** Compares the view of each edge with one that is built from the store now. */
async function compare({ database, edges }: OwnCluster): Promise<readonly string[]> {
  const store = await contentsOfStore(database.url);
  const faults: string[] = [];
  for (const { name, dataDir } of edges) {
    let found = await viewContents(dataDir);
    // A change that nobody waited for, such as the expiry of a lease, may come in between.
    for (let i = 0; i < 50 && (found.cursor ?? 0) < (store.cursor ?? 0); i++) {
      await sleep(50);
      found = await viewContents(dataDir);
    }
    if (found.digest !== store.digest || found.cursor !== store.cursor) {
      faults.push(
        `the view of ${name} has ${found.entries} entries up to ${found.cursor}, ${found.digest}; the store ${store.entries} up to ${store.cursor}, ${store.digest}`,
      );
    }
  }
  return faults;
}

async function contentsOfStore(url: string): Promise<ViewContents> {
  const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-compare-'));
  const store = await openStore({ dataDir, databaseUrl: url, clock: Date.now });
  const view = openLmdbWriter({ path: join(dataDir, 'view') });
  const follower = startFollower({ source: store.changes, view, clock: Date.now });
  try {
    try {
      await follower.ready;
    } finally {
      await follower.stop();
    }
    await view.close();
    // A file is opened once in a process.
    return await viewContents(dataDir);
  } finally {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** With everything else dead an edge starts and answers. */
async function startAlone({ cluster, askers, say }: FaultRounds): Promise<readonly string[]> {
  const { broker, database, controls, edges } = cluster;
  await Promise.all([broker, database, ...controls, ...edges].map((one) => one.kill()));
  const [edge] = edges;
  const [asker] = askers;
  const began = performance.now();
  const started = edge!.start();
  await waitFor('an answer of an edge alone', async () => {
    const answer = await asker!.ask('get.steady-0.acme.v1', 200);
    return answer?.payload === 'steady 0';
  });
  const took = Math.round(performance.now() - began);
  await started;
  const state = await readyz(edge!.httpPort);
  say(`an edge alone answers ${took} ms after its start, stale ${state.stale}`);
  const faults: string[] = [];
  const late = compareWithLimit('an edge alone', took, ALONE_MS);
  if (late.note !== null) say(late.note);
  if (late.fault !== null) faults.push(late.fault);
  if (!state.ready || state.stale !== true) faults.push('an edge alone is not ready and stale');
  return faults;
}

/** mulberry32: the same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
