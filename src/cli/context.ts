import type { Clock } from '../base/time.ts';
import { type Config, loadConfig } from '../ops/config/config.ts';
import { requireDataDir, type Secret } from '../ops/config/data-dir.ts';
import { readEnvironment } from '../ops/config/env.ts';
import { runsInCheckout } from '../ops/config/version.ts';
import { hasStore, runOverStore, type UseCaseDeps } from '../process/use-case-deps.ts';

export interface CliContext {
  readonly config: Config;
  readonly deps: UseCaseDeps;
  readonly secret: Secret;
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

/**
 * Runs a command over the configured store, beside a running server, and closes it.
 * @param mayCreate a missing store is made, and said on stderr. Only where the operator named its directory, or in a checkout: elsewhere
 * `./data` depends on the current directory, and the write would be in a store that no server reads.
 */
export async function withStore<T>(
  clock: Clock,
  run: (context: CliContext) => Promise<T>,
  { mayCreate } = { mayCreate: false },
): Promise<T> {
  const config = commandConfig();
  const isNamed = (readEnvironment().UQRP_DATA_DIR ?? '') !== '';
  const options = { mayCreate: mayCreate && (isNamed || runsInCheckout()) };
  const isNew = options.mayCreate && !hasStore(config);
  return runOverStore(
    config,
    clock,
    (deps, secret) => {
      if (isNew) process.stderr.write(`note: there was no store in ${config.dataDir}, this made one\n`);
      return run({ config, deps, secret });
    },
    options,
  );
}
