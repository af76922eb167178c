import type { Clock } from '../base/time.ts';
import { type Config, loadConfig } from '../ops/config/config.ts';
import { requireDataDir } from '../ops/config/data-dir.ts';
import { readEnvironment } from '../ops/config/env.ts';
import { runOverStore, type UseCaseDeps } from '../process/use-case-deps.ts';

export interface CliContext {
  readonly config: Config;
  readonly deps: UseCaseDeps;
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
export function withStore<T>(
  clock: Clock,
  run: (context: CliContext) => Promise<T>,
  options = { mayCreate: false },
): Promise<T> {
  const config = commandConfig();
  return runOverStore(config, clock, (deps) => run({ config, deps }), options);
}
