/** Builds what use cases need. It imports neither API nor webhooks, because each operator command loads it. */
import { randomBytes } from 'node:crypto';
import type { Config } from './config/config.ts';
import type { Secret } from './config/secrets.ts';
import type {
  HasClock,
  HasIds,
  HasRandom,
  HasSessions,
  HasStore,
  HasZoneLength,
} from './control/accounts/deps.ts';
import { openSessions } from './control/accounts/sessions.ts';
import type { Store } from './control/store/store.ts';
import type { Clock } from './core/clock.ts';
import { timeOrderedUuids } from './core/text/uuid.ts';

/** Enough for every use case except webhooks. Only composition roots hold all of it. */
export interface UseCaseDeps extends HasStore, HasClock, HasRandom, HasIds, HasZoneLength, HasSessions {}

export function makeDeps(
  config: Pick<Config, 'zones'>,
  store: Store,
  secret: Secret,
  clock: Clock,
): UseCaseDeps {
  const newId = timeOrderedUuids(clock);
  return {
    store,
    clock,
    random: randomBytes,
    newId,
    zoneLength: Math.max(...config.zones.map((zone) => zone.length)),
    sessions: openSessions({ store, clock, newId }, secret),
  };
}
