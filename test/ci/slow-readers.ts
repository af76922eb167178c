/**
 * 300 clients request listings or pages, half each, and read nothing. The server's memory grows by at most 250 MB, and /livez answers within
 * 500 ms, both in one of two tries: other work on the machine makes /livez late. A later answer is printed, and a fault unless one is as late
 * without the readers, right before they come and after they left. Each try is whole, and has the cores before that, where this script may say
 * so.
 *
 *   node test/ci/slow-readers.ts
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../src/base/limits.ts';
import { compareWithQuiet } from '../support/nodes/measure.ts';
import { preferThisProcess } from '../support/process.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';

const CUSTOMERS = 20;
const READERS = 300;
const GROWTH_MAX = 250e6;
const LIVEZ_MAX = 500;
const TRIES = 2;
/** Seconds of observation: more than the time after which the server closes a reader without progress. */
const WATCHED = LIMITS.listingIdleMs / 1000 + 5;

/** Seconds of observation without readers, each time. */
const QUIET = 10;

/** Resident memory of a process, octets. */
function memoryOf(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}

/** Makes a customer whose listing has about 3.5 MB. @returns the credential */
async function customerOf(uqrp: Uqrp, index: number): Promise<string> {
  const email = `reader-${index}@example.com`;
  uqrp.cli(['user', 'create', email]);
  const token = uqrp.cli(['user', 'token', email]).trim();
  const namespace = `reader-${index}-x`;
  await post(uqrp, token, '/namespaces', { namespace: { name: namespace } });
  for (const batch of ['a', 'b']) {
    const records = Array.from({ length: 500 }, (_, i) => ({
      key: `${batch}${i}.r.${namespace}.v1`,
      data: randomBytes(LIMITS.recordData).toString('base64'),
    }));
    await post(uqrp, token, '/records/bulk', { records });
  }
  return token;
}

async function post(uqrp: Uqrp, token: string, path: string, body: object): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${uqrp.ports.http}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.text()}`);
}

/** Requests records and reads nothing of the response. */
function slowReader(uqrp: Uqrp, token: string, query: string): Socket {
  const socket = connect(uqrp.ports.http, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(`GET /api/v1/records${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

/** Response time of /livez, milliseconds. */
async function livez(uqrp: Uqrp): Promise<number> {
  const from = performance.now();
  const answer = await fetch(`http://127.0.0.1:${uqrp.ports.http}/livez`);
  await answer.text();
  assert.equal(answer.status, 200);
  return performance.now() - from;
}

/** @param seen called after each answer @returns milliseconds of each answer */
async function livezFor(uqrp: Uqrp, seconds: number, seen = (): void => {}): Promise<number[]> {
  const waits: number[] = [];
  for (let round = 0; round < seconds * 4; round++) {
    waits.push(await livez(uqrp));
    seen();
    await sleep(250);
  }
  return waits;
}

interface Measured {
  /** Octets more than before the readers came. */
  readonly growth: number;
  /** The slowest response of /livez, milliseconds. */
  readonly slowest: number;
  /** The slowest without readers, of before and after the smaller one. */
  readonly quiet: number;
}

/** A server of its own, with everything from its start on. */
async function measure(): Promise<Measured> {
  const uqrp = await startUqrp();
  const readers: Socket[] = [];
  try {
    const tokens: string[] = [];
    for (let i = 0; i < CUSTOMERS; i++) tokens.push(await customerOf(uqrp, i));
    await livez(uqrp);
    // Before the quiet time: in it the server gives memory back that it takes again for whatever comes.
    const before = memoryOf(uqrp.pid);
    const quietBefore = await livezFor(uqrp, QUIET);
    for (let i = 0; i < READERS; i++) {
      readers.push(slowReader(uqrp, tokens[i % CUSTOMERS]!, i % 2 === 0 ? '' : '?limit=500'));
    }
    let peak = 0;
    const waits = await livezFor(uqrp, WATCHED, () => {
      peak = Math.max(peak, memoryOf(uqrp.pid));
    });
    const growth = peak - before;
    for (const socket of readers) socket.destroy();
    const quiet = Math.min(Math.max(...quietBefore), Math.max(...(await livezFor(uqrp, QUIET))));
    const [first = 0] = waits;
    const slowest = Math.max(...waits);
    process.stdout.write(
      `${READERS} readers: memory ${(before / 1e6).toFixed(0)} MB, at most ${(growth / 1e6).toFixed(0)} MB more; ` +
        `/livez at first ${first.toFixed(0)} ms, at most ${slowest.toFixed(0)} ms, without them ${quiet.toFixed(0)} ms\n`,
    );
    return { growth, slowest, quiet };
  } finally {
    for (const socket of readers) socket.destroy();
    await uqrp.remove();
  }
}

preferThisProcess();
for (let tries = 1; ; tries++) {
  const { growth, slowest, quiet } = await measure();
  const { note, fault } = compareWithQuiet('/livez, slowest', slowest, LIVEZ_MAX, quiet);
  if (note !== null) process.stdout.write(`${note}\n`);
  if (growth <= GROWTH_MAX && fault === null) break;
  if (tries < TRIES) continue;
  assert.ok(growth <= GROWTH_MAX, 'memory grew by more than 250 MB');
  assert.fail(fault ?? '');
}
