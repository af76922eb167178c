/**
 * CPU per answered query of a server below the sockets (docs/adr/18-below-the-sockets.md), against the same server over sockets and NSD. It runs in
 * network namespaces of its own: each server has a pair of virtual interfaces, whose other end is where `dnsperf` runs.
 *
 *   node bench/xdp.ts [rounds] [settings] [--seconds S]
 *
 * Settings, separated by commas:
 * - `threaded`: the receive path of each end runs in a kernel thread of its own, and that of the server is counted with the server, as the receive
 *   interrupts of a network card are its cost. Without this the client's receive path is charged to the server, and the server's to the client.
 * - `paced`: the same at 20,000 queries a second.
 * - `plain`: interfaces as `ip link` makes them, the server's process alone.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { enterOwnNetwork } from '../test/support/own-network.ts';
import { requirePrograms, start, stop } from '../test/support/process.ts';
import { compare, ratioOf, type Target } from './lib/compare.ts';
import { FIRST_NAME, hotFile, startFilled, ZONE, zoneText } from './lib/dataset.ts';
import { print } from './lib/figures.ts';
import { dnsperf } from './lib/load.ts';
import { signZone, startNsd } from './lib/peers.ts';

requirePrograms({
  nsd: 'nsd',
  dnsperf: 'dnsperf',
  dig: 'bind9-dnsutils',
  ethtool: 'ethtool',
  ip: 'iproute2',
  nsenter: 'util-linux',
  'dnssec-signzone': 'bind9-utils',
});
enterOwnNetwork([]);

const NSD_PORT = 5414;
const OWN_PORT = 5453;
const LOADER_SOCKET = join(tmpdir(), `uqrp-xdp-bench-${process.pid}`);
const WARM_UP_SECONDS = 4;

interface Setting {
  readonly name: string;
  readonly threaded: boolean;
  /** Of dnsperf. Where both ends have receive threads, 200 queries under way lose a few, for which it would wait five seconds. */
  readonly args: readonly string[];
  /** Greatest ratio to NSD that is promised. */
  readonly target: number;
}

const SETTINGS: readonly Setting[] = [
  { name: 'threaded', threaded: true, args: ['-q', '100'], target: 0.65 },
  { name: 'paced', threaded: true, args: ['-q', '100', '-Q', '20000'], target: 0.9 },
  { name: 'plain', threaded: false, args: [], target: 0.8 },
];

interface Link {
  /** Interface of the server's end. */
  readonly name: string;
  readonly address: string;
  /** Interface of the client's end. */
  readonly far: string;
}

interface Side extends Target {
  readonly link: Link;
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string' } },
});
const [rounds = '5', wanted = SETTINGS.map(({ name }) => name).join(',')] = positionals;
const seconds = values.seconds ?? '3';
const settings = wanted.split(',').map((name) => {
  const setting = SETTINGS.find((one) => one.name === name);
  if (setting === undefined) throw new Error(`no setting ${name}`);
  return setting;
});

const client = spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: 'ignore' });
const running: { remove(): Promise<void> }[] = [];
try {
  await ownNetworkOf(client);
  const results = [];
  for (const setting of settings) results.push(await measure(setting));
  print(
    '\n| setting | mode | to NSD (least to most) | target | | to sockets | sockets to NSD |\n|---|---|---|---|---|---|---|',
  );
  print(results.join('\n'));
} finally {
  await Promise.all(running.map((one) => one.remove()));
  client.kill('SIGKILL');
}

/** Each setting has servers of its own: a program that is attached changes how an interface receives. */
async function measure({ name, threaded, args, target }: Setting): Promise<string> {
  const links = [1, 2, 3, 4].map((n) => makeLink(n, threaded));
  const [forNsd, forSockets, forNative, forGeneric] = links as [Link, Link, Link, Link];
  const nsd = startNsd(ZONE, signZone(ZONE, zoneText()), NSD_PORT, forNsd.address);
  running.push(nsd);
  running.push(startLoader(links));
  const sides: Side[] = [{ name: 'NSD', link: forNsd, port: NSD_PORT, pid: nsd.child.pid! }];
  let file = '';
  for (const [side, link, mode] of [
    ['uqrp', forSockets, null],
    ['native XDP', forNative, 'native'],
    ['generic XDP', forGeneric, 'generic'],
  ] as const) {
    const server = await startFilled({
      UQRP_HOST: link.address,
      UQRP_HTTP_HOST: '127.0.0.1',
      UQRP_DNS_PORT: String(OWN_PORT),
      ...(mode === null ? {} : { UQRP_XDP: link.name, UQRP_XDP_MODE: mode, UQRP_XDP_LOADER: LOADER_SOCKET }),
    });
    running.push(server);
    file = hotFile(server.dataDir);
    sides.push({ name: side, link, port: server.ports.dns, pid: server.pid, metricsPort: server.ports.http });
  }
  const targets = sides.map((side) => ({ ...side, beside: threaded ? receiveThreads(side.link.name) : [] }));
  for (const one of targets) {
    await waitFrom(one);
    for (const pid of [one.pid, ...one.beside]) execFileSync('taskset', ['-a', '-p', '-c', '0', String(pid)]);
  }
  const ask = (one: Side, more: readonly string[]) =>
    dnsperf(one.port, file, ['-D', ...args, ...more], {
      address: one.link.address,
      inside: [...inClient(), 'taskset', '-c', '1'],
    });
  const samples = await compare(targets, {
    what: `${name}, signed`,
    rounds: Number(rounds),
    warmUpSeconds: WARM_UP_SECONDS,
    prime: (one) => ask(one, ['-n', '10']),
    load: (one) => ask(one, ['-l', seconds]),
  });
  await Promise.all(running.splice(0).map((one) => one.remove()));
  for (const link of links) execFileSync('ip', ['link', 'del', link.name]);
  const line = (side: string, to: string): string => {
    const { middle, least, most } = ratioOf(samples, side, to);
    return `${middle.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
  };
  const rows = ['native XDP', 'generic XDP'].map((side) => {
    const outcome = ratioOf(samples, side, 'NSD').middle <= target ? 'met' : '**missed**';
    return `| ${name} | ${side} | ${line(side, 'NSD')} | <= ${target} | ${outcome} | ${line(side, 'uqrp')} | ${line('uqrp', 'NSD')} |`;
  });
  return rows.join('\n');
}

/** Ends with the setting. */
function startLoader(links: readonly Link[]): { remove(): Promise<void> } {
  const program = fileURLToPath(new URL('../native/prebuilt/linux-x64/uqrp-xdp', import.meta.url));
  const loader = start(program, [LOADER_SOCKET, String(OWN_PORT), ...links.map(({ name }) => name)]);
  return { remove: () => stop(loader) };
}

function inClient(): string[] {
  return ['nsenter', '-t', String(client.pid), '--net'];
}

/** Waits until the process has left this namespace: its network is then empty. */
async function ownNetworkOf({ pid }: ChildProcess): Promise<void> {
  const inode = (of: string): string =>
    execFileSync('readlink', [`/proc/${of}/ns/net`], { encoding: 'utf8' });
  while (inode(String(pid)) === inode('self')) await sleep(20);
}

/** A pair of virtual interfaces to the client's namespace. */
function makeLink(n: number, threaded: boolean): Link {
  // Names of kernel threads contain them, so they differ from those of a run beside this one.
  const name = `q${process.pid % 10_000}${n}`;
  const link = { name, address: `10.77.${n}.1`, far: `${name}c` };
  const run = (command: string): Buffer => execFileSync('sh', ['-c', command]);
  const there = inClient().join(' ');
  run(`ip link add ${name} type veth peer name ${link.far} && ip link set ${link.far} netns ${client.pid}`);
  run(`ip addr add ${link.address}/24 dev ${name} && ip link set ${name} up`);
  run(`${there} sh -c 'ip addr add 10.77.${n}.2/24 dev ${link.far} && ip link set ${link.far} up'`);
  if (!threaded) return link;
  for (const [inside, device] of [
    ['', name],
    [there, link.far],
  ] as const) {
    // Segmentation by the sender would bypass the receive queue of the other end.
    run(`${inside} ethtool -K ${device} tso off gro on`);
    run(
      `${inside} unshare -m sh -c 'mount -t sysfs sysfs /sys && echo 1 >/sys/class/net/${device}/threaded'`,
    );
  }
  return link;
}

/** Kernel threads that run the receive path of an interface. */
function receiveThreads(device: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => commandOf(pid).startsWith(`napi/${device}-`)).map(Number);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}

async function waitFrom({ name, port, link }: Side): Promise<void> {
  const [command, ...args] = [...inClient(), 'dig', `@${link.address}`, '-p', String(port), '+short'];
  for (let attempt = 0; attempt < 60; attempt++) {
    try {
      const text = execFileSync(command!, [...args, '+tries=1', '+time=1', 'TXT', FIRST_NAME], {
        encoding: 'utf8',
      });
      if (text.includes('v=svc1')) return;
    } catch {
      // The server does not listen yet.
    }
    await sleep(200);
  }
  throw new Error(`${name} does not answer`);
}
