/** Builds what use cases need. It imports neither API nor webhooks, because each operator command loads it. */
import { randomBytes } from 'node:crypto';
import { timeOrderedUuids } from '../base/ids.ts';
import { aesGcmEncryption } from '../base/seal.ts';
import type { Clock } from '../base/time.ts';
import { type HasSessions, openSessions } from '../control/accounts/sessions.ts';
import type { HasClock, HasIds, HasRandom, HasStore, HasUnit, HasZoneLength } from '../control/deps.ts';
import type { HasHistoryKeys } from '../control/history/keep.ts';
import type { Config } from '../ops/config/config.ts';
import { deriveKey, type Secret } from '../ops/config/data-dir.ts';
import type { Store } from '../store/store.ts';

/** Enough for every use case except webhooks. Only composition roots hold all of it. */
export interface UseCaseDeps
  extends HasStore,
    HasUnit,
    HasClock,
    HasRandom,
    HasIds,
    HasHistoryKeys,
    HasZoneLength,
    HasSessions {}

export function makeDeps(
  config: Pick<Config, 'zones'>,
  store: Store,
  secret: Secret,
  clock: Clock,
): UseCaseDeps {
  const newId = timeOrderedUuids(clock);
  return {
    store,
    unit: (work) => store.write(work),
    clock,
    random: randomBytes,
    newId,
    // Without a cache: a destroyed key must not stay in memory.
    historyKeys: aesGcmEncryption(deriveKey(secret, 'history-key', 32), randomBytes, 0),
    zoneLength: Math.max(...config.zones.map((zone) => zone.length)),
    sessions: openSessions({ store, clock, newId }, secret),
  };
}
