/**
 * A virtual pair between two network namespaces: a listener below the sockets at one end, frames by hand at the other. For a process that is in a
 * network namespace of its own.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { XdpChange, XdpMode } from '../../../../src/base/network/transport.ts';
import { listenUdpBatch, loadUdpAddon } from '../../../../src/dns/udp/batch-listener.ts';
import type { UdpOptions } from '../../../../src/dns/udp/replies.ts';
import { echo, idOf, labelOf, query, setting, until } from '../fakes.ts';
import { frameOf, type ReadFrame, readFrame } from './frames.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
export const PORT = 5453;
const LOADER = join(ROOT, 'native/prebuilt/linux-x64/uqrp-xdp');
/** Of the server's and of the client's end. */
export const OURS = { ipv4: '10.77.1.1', ipv6: 'fd00::1', device: 'xs' };
export const THEIRS = { ipv4: '10.77.1.2', ipv6: 'fd00::2', device: 'xc' };

export const QUESTION = query(200, 'hot');

const run = (command: string): string => execFileSync('sh', ['-c', command], { encoding: 'utf8' });

export interface Client {
  /** Sends a frame and waits for nothing. */
  send(frame: Buffer): void;
  /** A question of `octets` from one of the client's ports, as a frame. */
  question(port: number, payload: Uint8Array, six?: boolean): Buffer;
  /** Replies to one of the client's ports, in the order in which they came. */
  repliesTo(port: number): readonly ReadFrame[];
  readonly ourMac: Buffer;
}

export interface Below {
  readonly client: Client;
  readonly dir: string;
  /** Starts the loader for the given interfaces. @param where folder of its socket @param program another build of it */
  loader(interfaces?: readonly string[], where?: string, program?: string): Promise<ChildProcess>;
  listen(
    options?: Partial<UdpOptions> & { mode?: XdpMode; device?: string; queue?: number },
    where?: string,
  ): Promise<Listening>;
  /** Whether a program is attached to the server's end. */
  hasProgram(): boolean;
}

export interface Listening {
  readonly changes: XdpChange[];
  /** Requests that came below the socket. */
  readonly below: () => number;
  /** Every request. */
  readonly all: () => number;
  close(): Promise<void>;
}

const macOf = (device: string, inside = ''): Buffer =>
  Buffer.from(
    /link\/ether (\S+)/.exec(run(`${inside} ip link show ${device}`))![1]!.replaceAll(':', ''),
    'hex',
  );

/** Whether a socket of this network namespace listens there: its file is there from when it is bound, which is earlier. */
const isListening = (path: string): boolean =>
  readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .some((line) => / 00010000 /.test(line) && line.endsWith(` ${path}`));

/** Builds the program that sends and prints frames. @returns its path */
export function buildFramePort(dir: string): string {
  const helper = join(dir, 'frame-port');
  run(`cc -O2 -o ${helper} ${join(ROOT, 'test/support/dns/udp/frame-port.c')}`);
  return helper;
}

/** Builds the loader with another file in place of the kernel's list of VLANs, which a kernel may lack. @returns its path */
export function buildLoader(dir: string, vlans: string): string {
  const loader = join(dir, 'loader-with-vlans');
  run(`cc -O2 -DVLAN_CONFIG='"${vlans}"' -o ${loader} ${join(ROOT, 'native/xdp-loader.c')}`);
  return loader;
}

/** @param dir an empty folder @param helper see `buildFramePort` @param queues of the server's interface */
export async function openBelow(
  dir: string,
  helper: string,
  queues = 1,
): Promise<Below & { close(): Promise<void> }> {
  const far = spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: 'ignore' });
  const children: ChildProcess[] = [far];
  const there = `nsenter -t ${far.pid} --net`;
  const network = (pid: number | 'self'): string => run(`readlink /proc/${pid}/ns/net`);
  await until(() => network(far.pid!) !== network('self'));
  const count = `numrxqueues ${queues} numtxqueues ${queues}`;
  run(`ip link add ${OURS.device} ${count} type veth peer name ${THEIRS.device} ${count}`);
  run(`ip link set ${THEIRS.device} netns ${far.pid}`);
  for (const [end, inside] of [
    [OURS, ''],
    [THEIRS, there],
  ] as const) {
    run(
      `${inside} ip addr add ${end.ipv4}/24 dev ${end.device}; ${inside} ip addr add ${end.ipv6}/64 dev ${end.device} nodad`,
    );
    run(`${inside} ip link set ${end.device} up`);
  }
  const port = spawn('nsenter', ['-t', String(far.pid), '--net', helper, THEIRS.device], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(port);
  const frames: ReadFrame[] = [];
  let isReady = false;
  createInterface(port.stdout).on('line', (line) => {
    if (line === 'ready') isReady = true;
    const frame = line === 'ready' ? null : readFrame(Buffer.from(line, 'hex'));
    if (frame !== null) frames.push(frame);
  });
  await until(() => isReady);
  const [ourMac, theirMac] = [macOf(OURS.device), macOf(THEIRS.device, there)];
  const client: Client = {
    ourMac,
    send: (frame) => void port.stdin.write(`${frame.toString('hex')}\n`),
    question(fromPort, payload, six = false) {
      const [from, to] = six ? [THEIRS.ipv6, OURS.ipv6] : [THEIRS.ipv4, OURS.ipv4];
      return frameOf({ from, to, fromPort, toPort: PORT, payload }, { toMac: ourMac, fromMac: theirMac });
    },
    repliesTo: (to) => frames.filter(({ toPort }) => toPort === to),
  };
  const socketIn = (where: string): string => join(where, 'loader');
  const open = new Set<Listening>();
  return {
    client,
    dir,
    async loader(interfaces = [OURS.device], where = dir, program = LOADER) {
      rmSync(socketIn(where), { force: true });
      const args = [socketIn(where), String(PORT), ...interfaces];
      const child = spawn(program, args, { stdio: 'ignore' });
      children.push(child);
      await until(() => isListening(socketIn(where)));
      return child;
    },
    async listen({ mode = 'auto', device = OURS.device, queue = 0, ...options } = {}, where = dir) {
      const changes: XdpChange[] = [];
      let below = 0;
      let all = 0;
      const listener = await listenUdpBatch(
        {
          ...setting(OURS.ipv4),
          port: PORT,
          handler: {
            // The id of a question says how long its reply is.
            hot(request, length, _transport, out) {
              all++;
              if (labelOf(request) === 'miss') return 0;
              const reply = echo(request.subarray(0, length), 0, idOf(request));
              out.set(reply);
              return reply.length;
            },
            slow: (request) => echo(request, 0, idOf(request)),
            nameShare: () => 0,
            isSpent: () => false,
          },
          below: {
            interfaces: [device],
            queue,
            mode,
            loader: socketIn(where),
            onRequests: (count) => (below += count),
            onChange: (change) => changes.push(change),
          },
          ...options,
        },
        loadUdpAddon()!,
      );
      const listening: Listening = {
        changes,
        below: () => below,
        all: () => all,
        close: () => {
          open.delete(listening);
          return listener.close(0);
        },
      };
      open.add(listening);
      return listening;
    },
    hasProgram: () => /\bxdp|prog\/xdp/.test(run(`ip -details link show ${OURS.device}`)),
    async close() {
      // Of a scenario that failed: the next one has the same port.
      await Promise.all(Array.from(open, (listening) => listening.close()));
      run(`ip link del ${OURS.device}`);
      for (const child of children) child.kill('SIGKILL');
      const alive = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
      await Promise.all(alive.map((child) => once(child, 'exit')));
    },
  };
}

/** Sends a frame and then a question that surely comes below the socket. @returns how many requests of the first came there, and in all */
export async function pathOf(
  { client }: Below,
  listening: Listening,
  frame: Buffer,
): Promise<{ below: number; all: number }> {
  const [below, all] = [listening.below(), listening.all()];
  client.send(frame);
  const marker = client.repliesTo(999).length;
  client.send(client.question(999, QUESTION));
  await until(() => client.repliesTo(999).length > marker);
  return { below: listening.below() - below - 1, all: listening.all() - all - 1 };
}
