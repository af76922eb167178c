/**
 * Control and broker in this network namespace, a node in another, and a long line between them. Needs a namespace of its own
 * (`enterOwnNetwork`), root, gcc and /dev/net/tun.
 */
import { type ChildProcess, execFileSync, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type NatsServer, natsMissing, runNats } from '../../feed/bus/nats-server.ts';
import { makeFeed } from '../../feed/feed-folder.ts';
import { type Account, account, startUqrp, type Uqrp } from '../../server-process.ts';
import type { FarOrder, FarReply, FarRequest } from './far-side.ts';

export interface FarLine {
  /** One way. */
  readonly delayMs: number;
  /** Of 1,000 packets, in each direction. */
  readonly loss: number;
  readonly seed: number;
  /** Of the kernel, for both ends: `bbr`, `cubic`; null: what this machine has. */
  readonly congestion: string | null;
}

export interface FarWorld {
  readonly control: Uqrp;
  readonly customer: Account;
  readonly congestion: string;
  /** @returns when the far side was done. Rejects with what failed there */
  far(order: FarOrder): Promise<{ readonly at: number; readonly value: unknown }>;
  startNode(): Promise<void>;
  /** False: nothing passes. */
  setLine(isUp: boolean): void;
  remove(): Promise<void>;
}

const HERE = '10.75.0.1';
const THERE = '10.75.0.2';
const SETTING = '/proc/sys/net/ipv4/tcp_congestion_control';
const PORT = 4222;
const NODE = 'far1';

/** Why this cannot run here, or null. */
export function farMissing(): string | null {
  if (process.getuid?.() !== 0) return 'a second network namespace needs root';
  if (!existsSync('/dev/net/tun')) return 'the kernel has no /dev/net/tun';
  if (spawnSync('cc', ['--version']).status !== 0)
    return 'a C compiler is missing (Debian: apt-get install gcc)';
  return natsMissing();
}

export async function startFarWorld(line: FarLine): Promise<FarWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-far-'));
  if (line.congestion !== null) writeFileSync(SETTING, line.congestion);
  const side = fork(fileURLToPath(new URL('./far-side.ts', import.meta.url)), {
    execPath: 'unshare',
    execArgv: ['--net', process.execPath],
  });
  const ask = messages(side);
  await once(side, 'message');
  const link = await startLink(folder, side.pid!, line);
  const inFar = (...words: readonly string[]): unknown =>
    execFileSync('nsenter', [`--net=/proc/${side.pid}/ns/net`, ...words]);
  if (line.congestion !== null) inFar('sh', '-c', `echo ${line.congestion} > ${SETTING}`);
  configure((...words) => execFileSync(words[0]!, words.slice(1)), HERE, THERE);
  inFar('ip', 'link', 'set', 'lo', 'up');
  configure(inFar, THERE, HERE);
  const feed = await makeFeed(join(folder, 'feed'), `${HERE}:${PORT}`);
  const credentials = await feed.addNode(NODE);
  const broker: NatsServer = await runNats(feed.config, `${HERE}:${PORT}`, folder);
  const shared = { UQRP_FEED_URL: `nats://${HERE}:${PORT}`, UQRP_WORKERS: '1', UQRP_DNSSEC: 'off' };
  const control = await startUqrp(
    { ...shared, UQRP_ROLE: 'control', UQRP_FEED_CREDENTIALS: feed.control },
    join(folder, 'control'),
  );
  control.child.stdout?.resume();
  control.child.stderr?.resume();
  const env = { ...shared, UQRP_ROLE: 'edge', UQRP_FEED_CREDENTIALS: credentials };
  return {
    control,
    customer: account(control),
    congestion: readFileSync(SETTING, 'utf8').trim(),
    far: ask,
    async startNode() {
      await ask({ do: 'start', env, dataDir: join(folder, 'node') });
    },
    setLine: (isUp) => void link.kill(isUp ? 'SIGUSR2' : 'SIGUSR1'),
    async remove() {
      const gone = once(side, 'exit');
      side.disconnect();
      await gone;
      await control.stop();
      await broker.kill();
      link.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startLink(folder: string, pid: number, line: FarLine): Promise<ChildProcess> {
  const program = join(folder, 'link');
  execFileSync('cc', ['-O2', '-o', program, fileURLToPath(new URL('./link.c', import.meta.url))]);
  const words = [pid, line.delayMs, line.loss, line.seed].map(String);
  const link = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await Promise.race([
    once(link.stdout!, 'data'),
    once(link, 'exit').then(() => Promise.reject(new Error('the line between two namespaces did not start'))),
  ]);
  return link;
}

/** The queue of a TUN device has 500 packets: a burst of a fast end would be lost in it, and not on the line. */
function configure(run: (...words: string[]) => unknown, own: string, other: string): void {
  run('ip', 'addr', 'add', own, 'peer', other, 'dev', 'far0');
  run('ip', 'link', 'set', 'far0', 'txqueuelen', '10000', 'up');
}

function messages(side: ChildProcess): FarWorld['far'] {
  const waiting = new Map<number, PromiseWithResolvers<{ at: number; value: unknown }>>();
  let next = 0;
  side.on('message', ({ id, at, error, value }: FarReply) => {
    const answer = waiting.get(id);
    waiting.delete(id);
    if (error === null) answer?.resolve({ at, value });
    else answer?.reject(new Error(error));
  });
  return (order) => {
    const answer = Promise.withResolvers<{ at: number; value: unknown }>();
    waiting.set(++next, answer);
    side.send({ ...order, id: next } satisfies FarRequest);
    return answer.promise;
  };
}
