import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tier } from '../../src/base/limits.ts';
import { settingsFor } from './command.ts';
import { type Account, account, startUqrp, type Uqrp } from './server-process.ts';

export interface CommandWorld {
  readonly server: Uqrp;
  readonly owner: Account;
  /** For commands that go over REST and DNS as the owner. */
  readonly env: NodeJS.ProcessEnv;
  /** Of the test's own files. */
  readonly dir: string;
  remove(): Promise<void>;
}

/** A server with the open namespaces `shop` and `live` of one owner. */
export async function startCommandWorld(tier: Tier): Promise<CommandWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-commands-'));
  const server = await startUqrp({ UQRP_WORKERS: '1' });
  const owner = account(server, 'owner@example.net', tier);
  for (const name of ['shop', 'live']) {
    await owner.call('POST', '/namespaces', { namespace: { name } });
    server.cli(['namespace', 'public-read', name, 'on']);
  }
  return {
    server,
    owner,
    dir,
    env: {
      ...settingsFor(join(dir, 'none')),
      UQRP_HTTP_PORT: String(server.ports.http),
      UQRP_DNS_PORT: String(server.ports.dns),
      UQRP_TOKEN: owner.token,
    },
    async remove() {
      await server.remove();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
