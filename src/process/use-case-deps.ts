/** Builds what use cases need. It imports neither API nor webhooks, because each operator command loads it. */
import { type Random, realRandom } from '../base/chance.ts';
import { timeOrderedUuids } from '../base/ids.ts';
import { aesGcmEncryption } from '../base/seal.ts';
import type { Clock } from '../base/time.ts';
import { writeAs } from '../control/accounts/membership.ts';
import { type HasSessions, openSessions } from '../control/accounts/sessions.ts';
import type {
  HasClock,
  HasIds,
  HasRandom,
  HasStore,
  HasTransparencyLog,
  HasUnit,
  HasZoneLength,
} from '../control/deps.ts';
import type { HasHistoryKeys } from '../control/history/keep.ts';
import { type Config, StartError } from '../ops/config/config.ts';
import {
  deriveKey,
  loadSecret,
  prepareDataDir,
  requireDataDir,
  type Secret,
} from '../ops/config/data-dir.ts';
import { isDiskFull } from '../store/engine/engine-errors.ts';
import { hasLocalStore } from '../store/open.ts';
import { hasServer } from '../store/sqlite/server-lock.ts';
import type { Store } from '../store/store.ts';
import { openCheckedStore, storeFault } from './start-checks.ts';

/** Enough for every use case except webhooks. Only composition roots hold all of it. */
export interface UseCaseDeps
  extends HasStore,
    HasUnit,
    HasClock,
    HasRandom,
    HasIds,
    HasHistoryKeys,
    HasZoneLength,
    HasTransparencyLog,
    HasSessions {}

export function makeDeps(
  config: Pick<Config, 'zones'> & Partial<Pick<Config, 'datasetsLog'>>,
  store: Store,
  secret: Secret,
  clock: Clock,
  random: Random = realRandom,
): UseCaseDeps {
  const newId = timeOrderedUuids(clock, random);
  return {
    store,
    unit: (actor, work, others) => writeAs({ store, clock }, actor, work, others),
    clock,
    random,
    newId,
    // Without a cache: a destroyed key must not stay in memory.
    historyKeys: aesGcmEncryption(deriveKey(secret, 'history-key', 32), random, 0),
    isLogged: config.datasetsLog != null,
    zoneLength: Math.max(...config.zones.map((zone) => zone.length)),
    sessions: openSessions({ store, clock, newId, random }, secret),
  };
}

interface StoreOptions {
  /** Whether missing data directory, database and secret are created. */
  readonly mayCreate: boolean;
}

/** Runs an operator's command over the configured store, beside a running server, and closes it. @throws StartError for an unusable store */
export async function runOverStore<T>(
  config: Config,
  clock: Clock,
  run: (deps: UseCaseDeps, secret: Secret) => Promise<T>,
  { mayCreate }: StoreOptions,
): Promise<T> {
  const { dataDir, databaseUrl } = config;
  // With both settings, the data directory is not needed.
  if (databaseUrl === null || config.secret === null) {
    if (mayCreate) prepareDataDir(dataDir);
    else requireDataDir(dataDir);
  }
  if (!mayCreate && !hasStore(config)) {
    throw new StartError(
      `there is no store in ${dataDir}: start the server once, or name its directory by UQRP_DATA_DIR`,
    );
  }
  const secret = loadSecret(dataDir, config.secret, mayCreate);
  // A server of an earlier release may run: it could not start again over upgraded tables.
  const store = await openCheckedStore(config, secret, clock, lacksServer(config) ? 'upgrade' : 'make');
  try {
    return await run(makeDeps(config, store, secret, clock), secret);
  } catch (error) {
    // A full disk, for example, with the path.
    throw (isDiskFull(error) ? storeFault(error, config) : null) ?? error;
  } finally {
    await store.close();
  }
}

/** Whether there is a store to run over, without making one. */
export function hasStore({ dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>): boolean {
  return databaseUrl !== null || hasLocalStore(dataDir);
}

/** Whether no server runs over the store, as far as it can be known here: with PostgreSQL it may run on another machine. */
export function lacksServer({ dataDir, databaseUrl }: Pick<Config, 'dataDir' | 'databaseUrl'>): boolean {
  return databaseUrl === null && !hasServer(dataDir);
}
