import type { Clock } from '../../../src/base/time.ts';
import type { ServiceFacts } from '../../../src/control/api-deps.ts';
import { deleteClosed } from '../../../src/control/namespaces/deletion.ts';
import { sharedLimiter } from '../../../src/control/shared-limiter.ts';
import { type Limiter, memoryLimiter } from '../../../src/http/limiter.ts';
import { releaseVersion } from '../../../src/ops/config/version.ts';
import { eraseSuperseded } from '../../../src/store/log/change-log.ts';
import type { Store } from '../../../src/store/store.ts';
import { advanceCursor } from '../../../src/store/webhooks/fan-out.ts';

/** What `GET /meta` and `GET /openapi.json` say of a server with the default configuration. */
export const TEST_SERVICE: ServiceFacts = {
  version: releaseVersion(),
  zones: ['uqrp.net'],
  webhookSchedule: [0, 5, 300, 1800, 7200],
  dnsHost: (origin: string) => new URL(origin).hostname,
  dnsPorts: () => ({ dns: 5300, dot: 8853, doh: 8443 }),
  features: {
    organizations: true,
    datasets: true,
    datasets_asof: false,
    billing: false,
    passkeys: true,
    sign_up: true,
    rate_limits: true,
  },
};

const ERASE_LIMIT = 1_000;

/** Does at once what the loops of a server do: deletes what is closed, passes the log, erases what was superseded in it. */
export async function runLoops(store: Store, clock: Clock): Promise<void> {
  await deleteClosed({ store, clock, signal: new AbortController().signal });
  const { head } = await store.changes.bounds();
  await store.write((tx) => advanceCursor(tx, head));
  for (let done = ERASE_LIMIT; done === ERASE_LIMIT; ) {
    done = await store.write((tx) => eraseSuperseded(tx, ERASE_LIMIT));
  }
}

/** The budgets that a server has on this engine: processes on one PostgreSQL share theirs. */
export function limiterOf(clock: Clock, store: Store): Limiter {
  return store.engine === 'postgres' ? sharedLimiter(store, clock) : memoryLimiter(clock);
}
