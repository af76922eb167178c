/** Places where an installed uqrp runs apart from the machine: a network of its own, and a root file system that is thrown away. Needs root. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** Milliseconds for one command; the longest installs a package. */
const COMMAND_MS = 120_000;

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

export interface As {
  /** These variables, and no others. */
  readonly env?: Readonly<Record<string, string>>;
  /** `USER:GROUP`, names or numbers. Default: root. */
  readonly user?: string;
}

export interface Place {
  /** Where its root is seen from outside. */
  readonly root: string;
  /** Runs a program of the place. */
  run(command: readonly string[], as?: As): Outcome;
  start(command: readonly string[], as?: As): ChildProcess;
  /** Runs a program of the machine in the place's network. */
  outside(command: readonly string[]): Outcome;
  leave(): Promise<void>;
}

/** The machine itself: ports must be free ones. */
export function machine(): Place {
  const line = (command: readonly string[], { env = {} }: As = {}): string[] => [
    ...['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
    ...command,
  ];
  return {
    root: '/',
    run: (command, as) => outcome(line(command, as)),
    start(command, as) {
      const [program, ...args] = line(command, as);
      return spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    },
    outside: outcome,
    leave: async () => {},
  };
}

/** @returns why there can be no place; null: there can */
export function placeMissing(): string | null {
  if (process.getuid?.() !== 0) return 'needs root';
  const { status } = spawnSync('unshare', ['--mount', '--net', 'ip', 'link', 'set', 'lo', 'up']);
  return status === 0 ? null : 'no namespaces can be made here';
}

/**
 * @param folder is empty; what is written there is in memory, and gone with the place
 * @param root a root file system; null: what the machine has, and changes to it are kept in the place
 */
export async function enterPlace(folder: string, root: string | null): Promise<Place> {
  const merged = root ?? `${folder}/merged`;
  const overlay = [
    `mount -t tmpfs tmpfs ${folder}`,
    `mkdir ${folder}/upper ${folder}/work ${merged}`,
    `mount -t overlay overlay -o lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work ${merged}`,
    // A place of systemd would be the machine's.
    `mount -t tmpfs tmpfs ${merged}/run`,
    `mount -t tmpfs -o mode=1777 tmpfs ${merged}/tmp`,
  ];
  const steps = [
    'ip link set lo up',
    ...(root === null ? overlay : []),
    `mkdir -p ${merged}/dev ${merged}/proc`,
    `mount --bind /dev ${merged}/dev`,
    `mount -t proc proc ${merged}/proc`,
    'echo ready',
    'exec sleep infinity',
  ];
  const holder = spawn('unshare', ['--mount', '--net', 'sh', '-ec', steps.join('\n')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  const first = await Promise.race([once(holder.stdout, 'data'), ended]);
  if (String(first[0]).trim() !== 'ready') throw new Error('the place cannot be made');
  const network = ['/usr/bin/nsenter', `--target=${holder.pid}`, '--mount', '--net'];

  const line = (command: readonly string[], { env = {}, user }: As = {}): string[] => [
    ...['env', '-i', ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
    ...[
      ...network,
      '/usr/sbin/chroot',
      ...(user === undefined ? [] : [`--userspec=${user}`]),
      merged,
      ...command,
    ],
  ];
  return {
    root: `/proc/${holder.pid}/root${merged}`,
    run: (command, as) => outcome(line(command, as)),
    start(command, as) {
      const [program, ...args] = line(command, as);
      return spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    },
    outside: (command) => outcome([...network, ...command]),
    async leave() {
      holder.kill('SIGKILL');
      await ended;
    },
  };
}

function outcome([program = '', ...args]: readonly string[]): Outcome {
  const done = spawnSync(program, args, { encoding: 'utf8', timeout: COMMAND_MS, killSignal: 'SIGKILL' });
  if (done.error !== undefined) throw done.error;
  return { code: done.status, out: done.stdout, errors: done.stderr };
}
