/** Broker, PostgreSQL, two control processes and three edges, each a process that can be killed and started again. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NatsServer, runNats } from '../feed/bus/nats-server.ts';
import { type FeedFolder, makeFeed } from '../feed/feed-folder.ts';
import { freePort } from '../free-port.ts';
import { type Account, account, startUqrp, type Uqrp } from '../server-process.ts';
import { type PostgresProcess, startPostgres } from '../store/postgres-process.ts';

/** A process on ports of its own, which stay the same. */
export interface Member {
  readonly name: string;
  readonly httpPort: number;
  readonly dnsPort: number;
  readonly dataDir: string;
  /** Resolves when everything listens. */
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP, or SIGCONT. */
  hold(isHeld: boolean): void;
  stop(): Promise<void>;
}

export interface Cluster {
  readonly broker: NatsServer;
  readonly feed: FeedFolder;
  readonly controls: readonly Member[];
  readonly edges: readonly Member[];
  /** A customer, at each control process. */
  readonly customers: readonly Account[];
  /** Runs a command of `uqrp` on the database. */
  cli(args: readonly string[]): string;
  remove(): Promise<void>;
}

const EDGES = ['ams1', 'fra1', 'nyc1'];

export interface ClusterOptions {
  /** Removed with the cluster. */
  readonly database: Pick<PostgresProcess, 'url' | 'remove'>;
  readonly edges?: readonly string[];
  /** Gets what a control process logs. */
  readonly onLog?: (name: string, text: string) => void;
}

/** A cluster with a database of its own, which can be killed too. */
export interface OwnCluster extends Cluster {
  readonly database: PostgresProcess;
}

export async function startCluster(): Promise<OwnCluster> {
  const database = await startPostgres();
  return { ...(await startClusterOn({ database })), database };
}

export async function startClusterOn({
  database,
  edges: names = EDGES,
  onLog = () => {},
}: ClusterOptions): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-cluster-'));
  const address = `127.0.0.1:${await freePort()}`;
  const feed = await makeFeed(join(folder, 'feed'), address);
  const credentials: string[] = [];
  // One command at a time changes the files of a feed.
  for (const name of names) credentials.push(await feed.addNode(name));
  const broker = await runNats(feed.config, address, folder);
  const shared = {
    UQRP_FEED_URL: `nats://${address}`,
    UQRP_WORKERS: '1',
    UQRP_LOG_FORMAT: 'json',
    UQRP_DNSSEC: 'off',
  };
  const control = {
    ...shared,
    UQRP_ROLE: 'control',
    UQRP_DATABASE_URL: database.url,
    UQRP_SECRET: 'a secret of more than 32 characters',
    UQRP_FEED_CREDENTIALS: feed.control,
  };
  const controls: Member[] = [];
  for (const name of ['first', 'second'])
    controls.push(await member(name, join(folder, name), control, onLog));
  const edges: Member[] = [];
  for (const [i, name] of names.entries()) {
    const env = { ...shared, UQRP_ROLE: 'edge', UQRP_FEED_CREDENTIALS: credentials[i] ?? '' };
    edges.push(await member(name, join(folder, name), env));
  }
  // The first one makes the tables.
  for (const one of controls) await one.start();
  await Promise.all(edges.map((edge) => edge.start()));
  const first = controls[0] as MemberProcess;
  const customer = account(first.process());
  return {
    broker,
    feed,
    controls,
    edges,
    customers: controls.map(({ httpPort }) => customer.at(`http://127.0.0.1:${httpPort}/api/v1`)),
    cli: (args) => first.process().cli(args),
    async remove() {
      for (const one of [...edges, ...controls]) await one.kill();
      await broker.remove();
      await database.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface MemberProcess extends Member {
  process(): Uqrp;
}

async function member(
  name: string,
  dataDir: string,
  env: NodeJS.ProcessEnv,
  onLog: NonNullable<ClusterOptions['onLog']> = () => {},
): Promise<MemberProcess> {
  const [httpPort, dnsPort] = [await freePort(), await freePort()];
  const all = { ...env, UQRP_HTTP_PORT: String(httpPort), UQRP_DNS_PORT: String(dnsPort) };
  let running: Uqrp | null = null;
  let starting: Promise<Uqrp> | null = null;
  return {
    name,
    httpPort,
    dnsPort,
    dataDir,
    process: () => running!,
    async start() {
      starting = startUqrp(all, dataDir);
      running = await starting;
      // A full pipe would block the process.
      for (const stream of [running.child.stdout, running.child.stderr])
        stream?.on('data', (text: Buffer) => onLog(name, text.toString()));
    },
    async kill() {
      const { child } = running ?? { child: null };
      running = null;
      if (child === null || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    hold: (isHeld) => void running?.child.kill(isHeld ? 'SIGSTOP' : 'SIGCONT'),
    async stop() {
      await running?.stop();
      running = null;
    },
  };
}
