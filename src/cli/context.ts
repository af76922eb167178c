import type { Clock } from '../base/time.ts';
import { type Config, loadConfig } from '../ops/config/config.ts';
import { loadSecret, prepareDataDir, requireDataDir, type Secret } from '../ops/config/data-dir.ts';
import { readEnvironment } from '../ops/config/env.ts';
import { openCheckedStore, storeFault } from '../process/start-checks.ts';
import { makeDeps, type UseCaseDeps } from '../process/use-case-deps.ts';
import { isDiskFull } from '../store/engine/engine-errors.ts';

export interface CliContext {
  readonly config: Config;
  readonly deps: UseCaseDeps;
  readonly secret: Secret;
}

interface StoreOptions {
  /** Whether missing data directory, database and secret are created. */
  readonly mayCreate: boolean;
}

/** Reads the configuration. Warns of misspelt variables on stderr, because they may name another server's data. */
export function commandConfig(): Config {
  const config = loadConfig(readEnvironment());
  for (const name of config.unknown) process.stderr.write(`warning: ${name} is not a variable of uqrp\n`);
  return config;
}

/** As `commandConfig`, for existing files. Throws StartError without a data directory. */
export function configWithData(): Config {
  const config = commandConfig();
  requireDataDir(config.dataDir);
  return config;
}

/** Runs a command over the configured store, beside a running server, and closes it. */
export async function withStore<T>(
  clock: Clock,
  run: (context: CliContext) => Promise<T>,
  { mayCreate }: StoreOptions = { mayCreate: false },
): Promise<T> {
  const config = commandConfig();
  const { dataDir, databaseUrl } = config;
  if (mayCreate) prepareDataDir(dataDir);
  // With both settings, the data directory is not needed.
  else if (databaseUrl === null || config.secret === null) requireDataDir(dataDir);
  const secret = loadSecret(dataDir, config.secret, mayCreate);
  const store = await openCheckedStore(config, secret, clock);
  try {
    return await run({ config, secret, deps: makeDeps(config, store, secret, clock) });
  } catch (error) {
    // A full disk, for example, with the path.
    throw (isDiskFull(error) ? storeFault(error, config) : null) ?? error;
  } finally {
    await store.close();
  }
}
