import { type Config, loadConfig } from '../config/config.ts';
import { prepareDataDir, requireDataDir } from '../config/data-dir.ts';
import { readEnvironment } from '../config/env.ts';
import { loadSecret, type Secret } from '../config/secrets.ts';
import type { Clock } from '../core/clock.ts';
import { openCheckedStore } from '../start-checks.ts';
import { makeDeps, type UseCaseDeps } from '../use-case-deps.ts';

export interface CliContext {
  readonly config: Config;
  readonly deps: UseCaseDeps;
  readonly secret: Secret;
}

interface StoreOptions {
  /** Whether the command may begin a service: it makes the data directory, database and secret where there are none. */
  readonly mayCreate: boolean;
}

/** The configuration of a command. Misspelt variables are told of on stderr, for they may name another server's data. */
export function commandConfig(): Config {
  const config = loadConfig(readEnvironment());
  for (const name of config.unknown) process.stderr.write(`warning: ${name} is not a variable of uqrp\n`);
  return config;
}

/** The same for a command that works on the files of a server. @throws StartError when there is no data directory */
export function configWithData(): Config {
  const config = commandConfig();
  requireDataDir(config.dataDir);
  return config;
}

/** Runs a command over the store that the environment names, beside a server that may be running, and closes it. */
export async function withStore<T>(
  clock: Clock,
  run: (context: CliContext) => Promise<T>,
  { mayCreate }: StoreOptions = { mayCreate: false },
): Promise<T> {
  const config = commandConfig();
  const { dataDir, databaseUrl } = config;
  if (mayCreate) prepareDataDir(dataDir);
  // With both given, nothing of the data directory is needed.
  else if (databaseUrl === null || config.secret === null) requireDataDir(dataDir);
  const secret = loadSecret(dataDir, config.secret, mayCreate);
  const store = await openCheckedStore(config, secret, clock);
  try {
    return await run({ config, secret, deps: makeDeps(config, store, secret, clock) });
  } finally {
    await store.close();
  }
}
