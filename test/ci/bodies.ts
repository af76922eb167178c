/**
 * What bodies of bulk writes may cost everybody else, with the limits of requests switched off:
 *
 * - One free account sends 58 bulk writes of 4 MB at once, of each hostile shape in turn. /livez, /readyz and another customer's `GET /me`
 *   answer within 250 ms (95 of 100) and never later than a second. What is later is printed, and a fault unless it is as late right
 *   before and right after the attack.
 * - Four free accounts hold 60 connections each, with 4 MB less an octet. Memory grows by at most 150 MB, and 30 s after they have left
 *   at most 50 MB of it are still taken.
 *
 * Each shape, and memory, holds in one of three whole tries: other work on the machine makes answers late.
 *
 *   node test/ci/bodies.ts [the src/cli.ts of another checkout, once]
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { LIMITS } from '../../src/base/limits.ts';
import { compareWithQuiet } from '../support/nodes/measure.ts';
import { preferThisProcess } from '../support/process.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';

const SENT = 58;
const HOLDERS = 4;
const CONNECTIONS_EACH = 60;
const P95_MAX = 250;
const SLOWEST_MAX = 1000;
const GROWTH_MAX = 150e6;
const KEPT_MAX = 50e6;
const TRIES = 3;
/** Milliseconds between two probes of one path. A probe does not wait for the one before. */
const PROBE_EVERY = 50;
/** Milliseconds of probes at least, and without an attack. */
const PROBED = 2000;
/** Milliseconds after which an attack is given up. */
const ATTACK_MAX = 90_000;
/** Milliseconds for which connections are held: longer than a body waits for its turn. */
const HELD = 12_000;

/** Fills a bulk body. @param unit is repeated */
function filled(head: string, unit: string, tail: string, size = LIMITS.bulkBody - 304): Buffer {
  const times = Math.floor((size - head.length - tail.length) / unit.length);
  return Buffer.from(head + unit.repeat(times) + tail);
}

const HALF = (LIMITS.bulkBody - 324) / 2;

const SHAPES: Readonly<Record<string, () => Buffer>> = {
  arrays: () => filled('{"records":[', '[],', '[]]}'),
  objects: () => filled('{"records":[', '{},', '{}]}'),
  deep: () => Buffer.from(`{"records":${'['.repeat(HALF)}${']'.repeat(HALF)}}`),
  numbers: () => filled('{"records":[', '1,', '1]}'),
  members: () => filled('{"records":[{', '"":0,', '"a":0}]}'),
  escapes: () => filled('{"records":["', '\\u0041', '"]}'),
  commas: () => filled('{"records":[', ',', ']}'),
  /** As many values as are read, in 4 MB. */
  allowed: () => filled('{"records":[', `"${'\\"'.repeat(104)}",`, '1]}'),
};

interface Attack {
  readonly port: number;
  readonly token: string;
  readonly shape: string;
}

/** In a thread of its own, so that probes do not wait for it. @returns how many answers had each status */
async function attack({ port, token, shape }: Attack): Promise<Record<string, number>> {
  const body = SHAPES[shape]!();
  const statuses: Record<string, number> = {};
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      let isCounted = false;
      const count = (status: string): void => {
        // The connection may be closed while the rest of the body is sent.
        if (isCounted) return;
        isCounted = true;
        statuses[status] = (statuses[status] ?? 0) + 1;
        resolve();
      };
      const options = {
        port,
        host: '127.0.0.1',
        path: '/api/v1/records/bulk',
        method: 'POST',
        agent: false,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': body.length,
        },
      } as const;
      const sent = request(options, (answer) => {
        answer.resume();
        answer.once('end', () => count(String(answer.statusCode)));
      });
      sent.once('error', () => count('error'));
      sent.end(body);
    });
  await Promise.all(Array.from({ length: SENT }, one));
  return statuses;
}

/** Milliseconds until the whole answer came. @param headers of the request */
function waitOf(port: number, path: string, headers: Record<string, string> = {}): Promise<number> {
  const from = performance.now();
  return new Promise((resolve) => {
    const end = (): void => resolve(performance.now() - from);
    const sent = get({ port, host: '127.0.0.1', path, agent: false, headers }, (answer) => {
      if (answer.statusCode !== 200) process.stdout.write(`${path}: ${answer.statusCode}\n`);
      answer.resume();
      answer.once('close', end);
    });
    sent.setTimeout(ATTACK_MAX, () => sent.destroy());
    sent.once('error', end);
  });
}

interface Waits {
  readonly p95: number;
  readonly slowest: number;
  readonly text: string;
}

function waitsOf(all: readonly number[]): Waits {
  const sorted = all.toSorted((a, b) => a - b);
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.POSITIVE_INFINITY;
  const slowest = sorted.at(-1) ?? Number.POSITIVE_INFINITY;
  return { p95, slowest, text: `p95 ${p95.toFixed(0)}, slowest ${slowest.toFixed(0)}` };
}

function customerOf(uqrp: Uqrp, email: string): string {
  uqrp.cli(['user', 'create', email]);
  return uqrp.cli(['user', 'token', email]).trim();
}

/** Resident memory of a process, octets. */
function memoryOf(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

function start(cli: string | undefined): Promise<Uqrp> {
  const env = { UQRP_METRICS: '127.0.0.1:0', UQRP_WORKERS: '1' };
  return cli === undefined ? startUqrp(env) : startUqrp(env, undefined, [], [cli, 'serve', '--json'], cli);
}

/** Sends every hostile shape, until it holds or was tried often enough. @returns the shapes that did not hold */
async function sendShapes(cli: string | undefined, tries: number): Promise<readonly string[]> {
  const uqrp = await start(cli);
  const failed: string[] = [];
  try {
    const other = { authorization: `Bearer ${customerOf(uqrp, 'other@example.com')}` };
    await waitOf(uqrp.ports.http, '/api/v1/me', other);
    for (const shape of Object.keys(SHAPES)) {
      const token = customerOf(uqrp, `${shape}@example.com`);
      let holds = false;
      for (let i = 0; i < tries && !holds; i++) holds = await sendShape(uqrp, shape, token, other);
      if (!holds) failed.push(shape);
    }
    return failed;
  } finally {
    await uqrp.remove();
  }
}

/**
 * Asks what others ask, and waits for all answers.
 * @param goesOn called with the milliseconds since the beginning
 */
async function probe(
  uqrp: Uqrp,
  other: Record<string, string>,
  goesOn: (ms: number) => boolean,
): Promise<ReadonlyMap<string, Waits>> {
  const probes = { livez: [], readyz: [], me: [] } as Record<string, Promise<number>[]>;
  for (const from = performance.now(); goesOn(performance.now() - from); await sleep(PROBE_EVERY)) {
    probes.livez!.push(waitOf(uqrp.ports.metrics!, '/livez'));
    probes.readyz!.push(waitOf(uqrp.ports.metrics!, '/readyz'));
    probes.me!.push(waitOf(uqrp.ports.http, '/api/v1/me', other));
  }
  const found = new Map<string, Waits>();
  for (const [name, waits] of Object.entries(probes)) found.set(name, waitsOf(await Promise.all(waits)));
  return found;
}

/** @param other headers of another customer. @returns whether others were answered in time throughout */
async function sendShape(
  uqrp: Uqrp,
  shape: string,
  token: string,
  other: Record<string, string>,
): Promise<boolean> {
  const settings: Attack = { port: uqrp.ports.http, token, shape };
  const quiet = () => probe(uqrp, other, (ms) => ms < PROBED);
  const before = await quiet();
  const attacker = new Worker(new URL(import.meta.url), { workerData: settings });
  const ended = new Promise<Record<string, number>>((resolve) => attacker.once('message', resolve));
  let isOver = false;
  const from = performance.now();
  void ended.then(() => {
    isOver = true;
  });
  // A short attack needs probes, too.
  const under = await probe(uqrp, other, (ms) => (!isOver || ms < PROBED) && ms <= ATTACK_MAX);
  const took = (performance.now() - from) / 1000;
  const statuses = JSON.stringify(await ended);
  const after = await quiet();
  const texts: string[] = [];
  let holds = true;
  for (const [name, { p95, slowest, text }] of under) {
    texts.push(`${name} ${text} ms`);
    const alone = [before.get(name)!, after.get(name)!];
    for (const { note, fault } of [
      compareWithQuiet(`${name}, p95`, p95, P95_MAX, Math.min(...alone.map((one) => one.p95))),
      compareWithQuiet(
        `${name}, slowest`,
        slowest,
        SLOWEST_MAX,
        Math.min(...alone.map((one) => one.slowest)),
      ),
    ]) {
      if (note !== null) texts.push(note);
      holds &&= fault === null;
    }
  }
  const memory = `memory ${(memoryOf(uqrp.pid) / 1e6).toFixed(0)} MB`;
  process.stdout.write(
    `${SENT} x ${shape}: ${took.toFixed(1)} s, answers ${statuses}; ${texts.join('; ')}; ${memory}\n`,
  );
  await attacker.terminate();
  return holds;
}

/** A bulk write whose last octet never comes. */
function holder(port: number, token: string, body: Buffer): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.resume();
  socket.write(
    `POST /api/v1/records/bulk HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${LIMITS.bulkBody}\r\n\r\n`,
  );
  socket.write(body);
  return socket;
}

/** Holds bodies that do not end. @returns whether memory stayed within its bounds */
async function holdBodies(cli: string | undefined): Promise<boolean> {
  const uqrp = await start(cli);
  const sockets: Socket[] = [];
  try {
    const tokens = Array.from({ length: HOLDERS }, (_, i) => customerOf(uqrp, `holder-${i}@example.com`));
    await waitOf(uqrp.ports.http, '/livez');
    const before = memoryOf(uqrp.pid);
    const body = filled('{"records":["', 'x', '', LIMITS.bulkBody - 1);
    for (const token of tokens) {
      for (let i = 0; i < CONNECTIONS_EACH; i++) sockets.push(holder(uqrp.ports.http, token, body));
    }
    let peak = 0;
    for (let waited = 0; waited < HELD; waited += 100) {
      peak = Math.max(peak, memoryOf(uqrp.pid));
      await sleep(100);
    }
    for (const socket of sockets) socket.destroy();
    let kept = Number.POSITIVE_INFINITY;
    let seconds = 0;
    while (kept > KEPT_MAX && seconds < 30) {
      await sleep(500);
      seconds += 0.5;
      kept = memoryOf(uqrp.pid) - before;
    }
    const growth = peak - before;
    process.stdout.write(
      `${HOLDERS * CONNECTIONS_EACH} bodies held: memory ${(before / 1e6).toFixed(0)} MB, at most ${(growth / 1e6).toFixed(0)} MB more; ` +
        `${(kept / 1e6).toFixed(0)} MB more ${seconds} s after they have left\n`,
    );
    return growth <= GROWTH_MAX && kept <= KEPT_MAX;
  } finally {
    for (const socket of sockets) socket.destroy();
    await uqrp.remove();
  }
}

if (isMainThread) {
  const cli = process.argv[2];
  preferThisProcess();
  const tries = cli === undefined ? TRIES : 1;
  const failed = await sendShapes(cli, tries);
  let isBounded = false;
  for (let i = 0; i < tries && !isBounded; i++) isBounded = await holdBodies(cli);
  if (cli === undefined) {
    assert.deepEqual(failed, [], 'bodies of one account make others wait');
    assert.ok(isBounded, 'bodies take memory');
  }
} else {
  parentPort!.postMessage(await attack(workerData as Attack));
}
