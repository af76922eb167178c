import { type Config, loadConfig } from '../config/config.ts';
import { readEnvironment } from '../config/env.ts';
import { loadSecret } from '../config/secrets.ts';
import type { Deps } from '../control/accounts/deps.ts';
import { openStore } from '../control/store/open.ts';
import { makeDeps } from '../control-wing.ts';
import type { Clock } from '../core/clock.ts';

export interface CliContext {
  readonly config: Config;
  readonly deps: Deps;
}

/** Runs a command over the store that the environment names, beside a server that may be running, and closes it. */
export async function withStore<T>(clock: Clock, run: (context: CliContext) => Promise<T>): Promise<T> {
  const config = loadConfig(readEnvironment());
  const { dataDir, databaseUrl } = config;
  const store = await openStore({ dataDir, databaseUrl, clock });
  try {
    const secret = loadSecret(dataDir, config.secret);
    return await run({ config, deps: makeDeps(config, store, secret, clock) });
  } finally {
    await store.close();
  }
}
