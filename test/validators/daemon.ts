import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, exchangeTcp, exchangeUdp } from '../../src/process/dns-client.ts';
import { CLASS, RRTYPE, rcodeName } from '../../src/protocol/dns/codes.ts';
import { encodeQuery } from '../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { txtValue } from '../../src/protocol/dns/rdata/rdata.ts';
import { envelopeText } from '../support/envelope-text.ts';
import { freePort } from '../support/free-port.ts';
import { start, stop } from '../support/process.ts';
import type { Daemon, Setup } from './daemons.ts';

/** A validator's result for an answer. */
export interface Validation {
  readonly status: 'secure' | 'insecure' | 'failed';
  /** Decoded payload of a TXT answer, or null. */
  readonly payload: string | null;
  /** Number of records of the queried type. */
  readonly records: number;
  /** TTL of the answer, seconds; null where it is not known. */
  readonly ttl: number | null;
  /** For the message of a failed test. */
  readonly detail: string;
}

export interface Validator {
  /** At 127.0.0.1: a resolver's own port; for `delv` and `drill`, the port of the server. */
  readonly port: number;
  ask(name: string, type: keyof typeof RRTYPE): Promise<Validation>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 20_000;
const START_TRIES = 3;
const DEADLINE_MS = 15_000;

export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

/** The reason to skip a test that needs a program, or false. */
export function skipWithout(program: string, debian: string): string | false {
  return isInstalled(program) ? false : `${program} is not installed (Debian package ${debian})`;
}

/** The first line with a program's version. */
export function versionOf(program: string, args: readonly string[]): string {
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  const line = `${stdout}${stderr}`.split('\n').find((text) => /\d+\.\d+/.test(text)) ?? '';
  return /\d+\.\d+(?:\.\d+)?[\w.+-]*/.exec(line.replace(/^\w{3} \d+ [\d:]+ /, ''))?.[0] ?? 'unknown';
}

/** Starts a resolver in the foreground and waits until it answers. */
export async function startDaemon(
  daemon: Daemon,
  where: Pick<Setup, 'anchors' | 'direct'> & { readonly root?: string },
): Promise<Validator> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryDaemon(daemon, where);
    } catch (error) {
      // Another process may have taken the port, for example for a resolver's query.
      if (attempt === START_TRIES) throw error;
    }
  }
}

async function tryDaemon(daemon: Daemon, where: Parameters<typeof startDaemon>[1]): Promise<Validator> {
  const dir = mkdtempSync(join(tmpdir(), `uqrp-${daemon.program}-`));
  const setup: Setup = { root: '192.0.2.53', ...where, dir, port: await freePort() };
  for (const [file, text] of Object.entries(daemon.files(setup))) writeFileSync(join(dir, file), text);
  const child = start(daemon.program, daemon.args(setup));
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-20_000);
    });
  }
  const end = async (): Promise<void> => {
    await stop(child);
    rmSync(dir, { recursive: true, force: true });
  };
  const giveUp = Date.now() + START_LIMIT_MS;
  while (child.exitCode === null && !(await answers(setup.port))) {
    if (Date.now() > giveUp) break;
    await sleep(50);
  }
  if (child.exitCode !== null || Date.now() > giveUp) {
    await end();
    throw new Error(`${daemon.program} does not answer:\n${log}`);
  }
  const { port } = setup;
  return { port, ask: (name, type) => resultOf(name, type, port), stop: end };
}

/**
 * Whether the resolver answers a query that needs no other server, over UDP and over TCP. named goes on without TCP when another process has
 * the port there, and a truncated answer would then be refused.
 */
async function answers(port: number): Promise<boolean> {
  const question = encodeQuery(nameFromText('version.bind')!, RRTYPE.TXT, {
    id: 0,
    rd: false,
    qclass: CLASS.CH,
    edns: null,
  });
  const server = { host: '127.0.0.1', port, ca: null };
  try {
    await exchangeUdp(question, server, 500);
    await exchangeTcp(question, server, 500);
    return true;
  } catch {
    return false;
  }
}

async function resultOf(name: string, type: keyof typeof RRTYPE, port: number): Promise<Validation> {
  const reply = await ask(nameFromText(name)!, RRTYPE[type], {
    server: { host: '127.0.0.1', port, ca: null },
    transport: 'udp',
    deadlineMs: DEADLINE_MS,
    dnssecOk: true,
  });
  const rcode = rcodeName(reply.rcode);
  const found = reply.answer.filter((rr) => rr.type === RRTYPE[type]);
  const text = found[0]?.type === RRTYPE.TXT ? txtValue(found[0].rdata) : null;
  // pdns_recursor leaves AD set in a SERVFAIL.
  const isAnswer = rcode === 'NOERROR' || rcode === 'NXDOMAIN';
  return {
    status: !isAnswer ? 'failed' : reply.ad ? 'secure' : 'insecure',
    payload: text === null ? null : envelopeText(Buffer.from(text).toString('latin1')),
    records: type === 'ANY' ? reply.answer.length : found.length,
    ttl: found[0]?.ttl ?? null,
    detail: rcode,
  };
}
