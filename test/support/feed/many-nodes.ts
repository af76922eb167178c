/** A broker with the files of `uqrp feed init`, and processes of both roles around it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { startUqrp, type Uqrp } from '../server-process.ts';
import { type NatsServer, runNats } from './bus/nats-server.ts';
import { type FeedFolder, makeFeed } from './feed-folder.ts';

export interface ManyNodes {
  readonly broker: NatsServer;
  readonly feed: FeedFolder;
  /** What a process of the control side is given, apart from its database and secret. */
  readonly controlEnv: NodeJS.ProcessEnv;
  /** Starts a process that `close` removes. */
  start(env: NodeJS.ProcessEnv, dataDir?: string): Promise<Uqrp>;
  /** Makes a node known to the broker, where it is not. @returns what its process is given */
  nodeEnv(name: string): Promise<NodeJS.ProcessEnv>;
  /** Ends everything and removes it. */
  close(): Promise<void>;
}

/** Needs nats-server. @param shared given to every process */
export async function startManyNodes(shared: NodeJS.ProcessEnv = {}): Promise<ManyNodes> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-nodes-'));
  const address = `127.0.0.1:${await freePort()}`;
  const feed = await makeFeed(join(folder, 'feed'), address);
  const broker = await runNats(feed.config, address, folder);
  const url = { UQRP_FEED_URL: `nats://${address}`, UQRP_WORKERS: '1', ...shared };
  const servers: Uqrp[] = [];
  const credentials = new Map<string, string>();
  return {
    broker,
    feed,
    controlEnv: { ...url, UQRP_ROLE: 'control', UQRP_FEED_CREDENTIALS: feed.control },
    async start(env, dataDir) {
      const server = await startUqrp(env, dataDir);
      servers.push(server);
      return server;
    },
    async nodeEnv(name) {
      const known = credentials.get(name);
      const file = known ?? (await feed.addNode(name));
      if (known === undefined) await broker.reload();
      credentials.set(name, file);
      return { ...url, UQRP_ROLE: 'edge', UQRP_NODE: name, UQRP_FEED_CREDENTIALS: file };
    },
    async close() {
      for (const server of servers.toReversed()) await server.remove();
      await broker.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
