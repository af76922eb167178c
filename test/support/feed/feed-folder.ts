import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runCli } from '../command.ts';

/** What `uqrp feed init` makes, with the means to add nodes. */
export interface FeedFolder {
  readonly dir: string;
  /** Configuration of nats-server. */
  readonly config: string;
  /** Path of the credentials of control. */
  readonly control: string;
  /** @returns the path of the node's credentials */
  addNode(name: string): Promise<string>;
}

/** @param listen where the broker listens */
export async function makeFeed(dir: string, listen = '127.0.0.1:4222'): Promise<FeedFolder> {
  await run(['feed', 'init', dir, '--listen', listen]);
  return {
    dir,
    config: join(dir, 'nats-server.conf'),
    control: join(dir, 'control.creds'),
    async addNode(name) {
      const path = join(dirname(dir), `${name}.creds`);
      writeFileSync(path, await run(['node', 'add', name, '--feed', dir]), { mode: 0o600 });
      return path;
    },
  };
}

async function run(args: readonly string[]): Promise<string> {
  const { code, out, errors } = await runCli([...args], {});
  if (code !== 0) throw new Error(`uqrp ${args[0]} ${args[1]}: ${errors}`);
  return out;
}
