import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { every } from '../../base/lifecycle/every.ts';
import { makeResolve } from '../../outbound/connection.ts';
import { createOutboundClient } from '../../outbound/outbound-client.ts';
import { operatorOrigins } from '../../outbound/target.ts';
import { makeProviderClient, type ProviderClient } from './client/provider-client.ts';
import { readSnapshot, writeSnapshot } from './client/snapshot.ts';
import { type AskControl, makeRemoteClient } from './remote/remote-client.ts';
import type { Endpoints } from './sources/endpoints.ts';
import { makeFeeds } from './sources/feeds.ts';
import type { OnCall } from './sources/source.ts';

export interface ProvidersOptions {
  readonly endpoints: Endpoints;
  /** Base URLs that may be private or without TLS, because the operator chose them. */
  readonly ownBases: readonly string[];
  /** Name servers; empty: those of the system. */
  readonly resolvers: readonly string[];
  /** The `User-Agent` sent to providers. */
  readonly agent: string;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly onCall: OnCall;
}

export interface OpenProviders {
  readonly client: ProviderClient;
  /** Writes the final snapshot. */
  stop(): Promise<void>;
}

/** Timeout of one call to a provider, milliseconds. */
const DEADLINE_MS = 4000;
const SNAPSHOT_MS = 60_000;

/** Opens the provider client of a process, with the cache and budgets of its last stop. */
export async function openProviders(options: ProvidersOptions): Promise<OpenProviders> {
  const { endpoints, ownBases, resolvers, agent, dataDir, clock, onCall } = options;
  const outbound = createOutboundClient({
    policy: operatorOrigins(ownBases),
    resolve: makeResolve(resolvers),
    deadlineMs: DEADLINE_MS,
  });
  return opened(
    makeProviderClient({ feeds: makeFeeds(endpoints, { outbound, agent }), clock, onCall }),
    dataDir,
  );
}

/** Opens the provider client of an edge with a feed, which asks control instead of providers. */
export function openRemoteProviders({
  ask,
  clock,
  dataDir,
}: Pick<ProvidersOptions, 'clock' | 'dataDir'> & { readonly ask: AskControl }): Promise<OpenProviders> {
  return opened(makeRemoteClient({ ask, clock }), dataDir);
}

/** With the state of the last stop, which is saved every minute. */
async function opened(client: ProviderClient, dataDir: string): Promise<OpenProviders> {
  const path = join(dataDir, 'providers.json');
  const state = await readSnapshot(path);
  if (state !== null) client.restore(state);
  let written = client.changes();

  async function save(): Promise<void> {
    const now = client.changes();
    if (now === written) return;
    written = now;
    // Without the file a restart repeats calls, which is no reason to fail.
    await writeSnapshot(path, client.state()).catch(() => {});
  }

  const saving = every({ ms: SNAPSHOT_MS, task: save, onError() {} });
  return {
    client,
    async stop() {
      await saving.stop();
      await save();
    },
  };
}
