/**
 * How long an answer takes at 70 % of what one worker can answer, while 1,000 records a second are written over REST and a flood of names that
 * do not exist goes on: hot names over UDP with DO, on two cores that server and load generators share. What it can answer is measured beside these two.
 * `node bench/latency.ts [rounds] [seconds] [--first] [--pinned] [--peer knot|nsd] [--against DIR]`
 *
 * The load comes from `udp-load`, which takes a quarter of the processor that `dnsperf` takes for it; a second one asks 2,000 questions a second
 * beside it and tells the time of each.
 *
 * With two cores most of a long answer is a wait for a processor, which a thread that answers does not have where it has a core of its own. So:
 * `--first` lets that thread and all load generators run before all others (SCHED_FIFO, needs root): they wait for no other work of the machine. The kernel's
 * threads that deliver packets go before the load, which they would wait for, and no thread is stopped for having run 95 % of a second;
 * `--pinned` keeps that thread on the first core and all others on the second. Printed beside the times: how long it ran and waited in a second, and how much of the load was answered.
 * A peer takes its turns in the same rounds, with the same share of what it can answer, without writes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { account } from '../test/support/server-process.ts';
import { hotFile, uniqueFile } from './lib/dataset.ts';
import { median, print, quantile, row, spread } from './lib/figures.ts';
import { compiled, dnsperf, prime } from './lib/load.ts';
import { restLoads } from './lib/rest-loads.ts';
import { busiestThread, deliverFirst, keepOn, runFirst, threadsOf } from './lib/threads.ts';
import { openWorld } from './lib/world.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    first: { type: 'boolean', default: false },
    pinned: { type: 'boolean', default: false },
    peer: { type: 'string' },
    against: { type: 'string' },
  },
});
const [ROUNDS, SECONDS] = [Number(positionals[0] ?? 5), Number(positionals[1] ?? 5)];
/** Seconds that the load, the writes and the flood go on before times are told: what a start costs is told by other figures. */
const SETTLE = 1;
const ALL = SECONDS + SETTLE;
const SHARE = 0.7;
const PROBES = 2_000;
const WRITES = 1_000;
/** Names a second, below what one worker signs. */
const SIGNED = 1_500;
/** Over twice as many as are signed. */
const FLOOD = 5_000;
const BARS = [
  [0.5, null],
  [0.99, 1],
  [0.999, 5],
] as const;
let runs = 0;
/** Priorities: the times are told first of all, and the load comes last. */
const [COLLECTS, ASKS, ANSWERS, DELIVERS, TELLS] = [1, 5, 10, 15, 20];
let putBack = (): void => {};

interface Case {
  readonly name: string;
  readonly load: boolean;
  readonly writes: boolean;
  readonly flood: boolean;
}
const CASES: readonly Case[] = [
  { name: 'nothing else', load: false, writes: false, flood: false },
  { name: 'load', load: true, writes: false, flood: false },
  { name: 'load and flood', load: true, writes: false, flood: true },
  { name: 'load and writes', load: true, writes: true, flood: false },
  { name: 'load, writes, flood', load: true, writes: true, flood: true },
];

/** Of a case, by round: milliseconds at each bar, then milliseconds a second that the answering thread ran and waited, then the part of the load that was answered. */
type Figures = readonly number[];

interface Subject {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  /** The thread that answers. */
  readonly thread: number;
  readonly hot: string;
  readonly write: (() => Promise<void>) | null;
  readonly dir: string;
  readonly rates: number[];
  readonly figures: Map<string, Figures[]>;
}

const home = mkdtempSync(join(tmpdir(), 'uqrp-latency-'));
const generator = compiled('udp-load', home);
const world = openWorld({ rounds: ROUNDS, seconds: SECONDS, against: values.against ?? null });
const subjects: Subject[] = [];
try {
  const add = async (
    one: { name: string; port: number; pid: number },
    dir: string,
    write: Subject['write'],
  ) => {
    const hot = hotFile(dir);
    // Each name once at a rate that can be signed: a truncated answer fills no cache.
    dnsperf(one.port, hot, ['-D', '-n', '1', '-Q', String(SIGNED)]);
    const thread = await busiestThread(one.pid, () => prime(one.port, hot, ['-D']));
    subjects.push({ ...one, thread, hot, write, dir, rates: [], figures: new Map() });
  };
  const ours = await world.ours();
  for (const side of ours) {
    const customer = account(side.server, 'writer@example.net');
    await customer.call('POST', '/namespaces', { namespace: { name: 'writes' } });
    const [post] = restLoads({ seconds: ALL, bulks: 0, namespace: 'writes', rate: WRITES });
    await add({ ...side, pid: side.server.pid }, side.server.dataDir, () =>
      post!.run(customer, []).then(() => {}),
    );
  }
  if (values.peer !== undefined) {
    const peer = await (values.peer === 'nsd' ? world.nsd('signed') : world.knot('signed'));
    await add({ ...peer, pid: peer.pid! }, ours[0]!.server.dataDir, null);
  }
  for (const subject of subjects) arrange(subject);
  if (values.first) putBack = deliverFirst(DELIVERS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) await measure(subject);
  }
} finally {
  putBack();
  await world.remove();
  rmSync(home, { recursive: true });
}
report();

/** Gives the threads their places, where that was asked for. */
function arrange({ pid, thread }: Subject): void {
  if (values.pinned) {
    for (const { id } of [...threadsOf(pid), ...threadsOf(process.pid)]) keepOn(1, id);
    keepOn(0, thread);
  }
  if (values.first) {
    runFirst(thread, ANSWERS);
    for (const { id } of threadsOf(pid, 'V8Worker')) runFirst(id, COLLECTS);
  }
}

async function measure(subject: Subject): Promise<void> {
  const { port, hot, write, figures } = subject;
  const rate = Math.round((await most(subject)) * SHARE);
  subject.rates.push(rate);
  for (const { name, ...has } of CASES) {
    if (has.writes && write === null) continue;
    const before = timesOfThread(subject);
    const at = performance.now();
    const loaded = has.load ? load(port, hot, rate) : null;
    const others = beside(subject, has);
    await sleep(SETTLE * 1000);
    const found = await probe(port, hot);
    await Promise.all(others);
    const part = loaded === null ? 1 : (await loaded) / (rate * ALL);
    const passed = (performance.now() - at) / 1000;
    const after = timesOfThread(subject);
    const spent = [after.ran - before.ran, after.waited - before.waited];
    const own = [...BARS.map(([share]) => quantile(found, share)), ...spent.map((s) => (s * 1000) / passed)];
    figures.set(name, [...(figures.get(name) ?? []), [...own, part]]);
  }
}

/** Starts what a case has beside the load. */
function beside(
  { port, dir, write }: Subject,
  has: Pick<Case, 'writes' | 'flood'>,
): readonly Promise<unknown>[] {
  return [
    ...(has.writes && write !== null ? [write()] : []),
    ...(has.flood ? [load(port, uniqueFile(dir, FLOOD * ALL), FLOOD)] : []),
  ];
}

/** @returns hot questions a second that are answered beside the writes and the flood, as many as can be */
async function most(subject: Subject): Promise<number> {
  const others = beside(subject, { writes: true, flood: true });
  const answered = await load(subject.port, subject.hot, 0);
  await Promise.all(others);
  return answered / ALL;
}

function timesOfThread({ pid, thread }: Subject) {
  return threadsOf(pid).find(({ id }) => id === thread)!;
}

function report(): void {
  const how = [values.first && 'first', values.pinned && 'pinned'].filter(Boolean).join(', ');
  print(`${ROUNDS} rounds of ${SECONDS} s; ${how || 'all threads equal'}; ms`);
  for (const { name, rates, figures } of subjects) {
    print(`${name}: load ${median(rates)} questions a second, ${SHARE * 100} % of the most`);
    print(
      row(['', ...BARS.map(([share]) => `p${share * 100}`), 'ran, ms/s', 'waited, ms/s', 'load answered']),
    );
    for (const [what, rounds] of figures)
      print(row([what, ...rounds[0]!.map((_, i) => median(rounds.map((r) => r[i]!)))]));
  }
  print(row(['at most', ...BARS.map(([, most]) => (most === null ? '' : most))]));
  const [ours, ...others] = subjects;
  for (const other of others) {
    print(`ratio to ${other.name}, median of rounds (least to most)`);
    for (const [what, rounds] of other.figures) {
      const ratios = BARS.map((_, i) =>
        spread(rounds.map((r, at) => ours!.figures.get(what)![at]![i]! / r[i]!)),
      );
      print(
        row([what, ...ratios.map(({ middle, least, most }) => `${t(middle)} (${t(least)}-${t(most)})`)], 22),
      );
    }
  }
}

function t(ratio: number): string {
  return ratio.toFixed(2);
}

interface Asking {
  /** Questions a second; 0: as many as are answered. */
  readonly rate: number;
  readonly priority: number;
  readonly seconds: number;
  /** Whether the time of each answer is told. */
  readonly tells?: boolean;
}

/** Runs `udp-load`. @returns what it printed, by way of a file: a full pipe would have it wait for this process */
async function ask(
  port: number,
  file: string,
  { rate, priority, seconds, tells = false }: Asking,
): Promise<string> {
  const core = values.pinned ? ['taskset', '-c', '1'] : [];
  const first = values.first ? ['chrt', '-f', String(priority)] : [];
  const [command, ...args] = [...core, ...first, generator, port, file, seconds, rate].map(String);
  const out = `${file}.${runs++}`;
  const fd = openSync(out, 'w');
  try {
    await once(
      spawn(command!, tells ? [...args, 'tell'] : args, { stdio: ['ignore', fd, 'ignore'] }),
      'exit',
    );
    return readFileSync(out, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** @returns how many were answered */
async function load(port: number, file: string, rate: number): Promise<number> {
  const [answered] = (await ask(port, file, { rate, priority: ASKS, seconds: ALL })).split(' ');
  return Number(answered);
}

/** @returns milliseconds of each answer; one that did not come in a second has 1,000 */
async function probe(port: number, file: string): Promise<readonly number[]> {
  const [, ...waits] = (
    await ask(port, file, { rate: PROBES, priority: TELLS, seconds: SECONDS, tells: true })
  )
    .trim()
    .split('\n');
  return waits.map((micros) => Number(micros) / 1000);
}
