/** The provider client of an edge with a feed: it asks control, which calls the providers, so that their quotas are spent once. */
import type { Clock } from '../../../base/clock.ts';
import type { ProviderClient } from '../client/provider-client.ts';
import { makeReadingClient } from '../client/reading-client.ts';
import { type FeedName, LIFETIMES } from '../sources/feeds.ts';
import { cachedReading, type RemoteReading } from './remote-reading.ts';

/** Never rejects: `down` when control cannot be reached. */
export type AskControl = (feed: FeedName, key: string) => Promise<RemoteReading>;

export interface RemoteClientOptions {
  readonly ask: AskControl;
  readonly clock: Clock;
  /** As in the provider client. */
  readonly patienceMs?: number;
  readonly entriesMax?: number;
}

/** Cache, single flight and stale rules are those of the provider client. Budgets and breakers are at control. */
export function makeRemoteClient({
  ask,
  clock,
  patienceMs,
  entriesMax,
}: RemoteClientOptions): ProviderClient {
  const readings = makeReadingClient({
    timesOf: (feed) => LIFETIMES[feed] ?? null,
    load: async (feed, key) => cachedReading(await ask(feed, key), clock()),
    clock,
    patienceMs,
    entriesMax,
  });
  return {
    // Which feeds control has is in its answers: `off` for the others.
    offered: Object.keys(LIFETIMES) as FeedName[],
    ask: (name, key) => readings.ask(name, key),
    size: () => readings.size(),
    changes: () => readings.changes(),
    state: () => ({ entries: readings.entries(), budgets: [] }),
    restore: (state) => readings.restore(state.entries),
  };
}
