import { join } from 'node:path';
import type { Clock } from '../../../core/clock.ts';
import { makeResolve } from '../../../outbound/connection/resolver.ts';
import { createOutboundClient } from '../../../outbound/outbound-client.ts';
import { operatorOrigins } from '../../../outbound/target/target-policy.ts';
import type { Endpoints } from './endpoints.ts';
import { makeFeeds } from './feeds.ts';
import { makeHub, type ProviderHub } from './hub.ts';
import { readSnapshot, writeSnapshot } from './snapshot.ts';
import type { OnCall } from './source.ts';

export interface ProvidersOptions {
  readonly endpoints: Endpoints;
  /** Bases that may be private or without TLS, for the operator chose them. */
  readonly ownBases: readonly string[];
  /** Name servers; empty: those of the system. */
  readonly resolvers: readonly string[];
  /** Who we are to a provider. */
  readonly agent: string;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly onCall: OnCall;
}

export interface OpenProviders {
  readonly hub: ProviderHub;
  /** Writes the snapshot a last time. */
  stop(): Promise<void>;
}

/** One call to a provider takes no longer, milliseconds. */
const DEADLINE_MS = 4000;
const SNAPSHOT_MS = 60_000;

/** The hub of a process, with what it knew when it last stopped. */
export async function openProviders(options: ProvidersOptions): Promise<OpenProviders> {
  const { endpoints, ownBases, resolvers, agent, dataDir, clock, onCall } = options;
  const door = createOutboundClient({
    policy: operatorOrigins(ownBases),
    resolve: makeResolve(resolvers),
    deadlineMs: DEADLINE_MS,
  });
  const hub = makeHub({ feeds: makeFeeds(endpoints, { door, agent }), clock, onCall });
  const path = join(dataDir, 'providers.json');
  const state = await readSnapshot(path);
  if (state !== null) hub.restore(state);
  let written = hub.changes();
  let writing: Promise<void> = Promise.resolve();

  async function save(): Promise<void> {
    const now = hub.changes();
    if (now === written) return;
    written = now;
    // Without the file a restart asks again what it knew: no reason to fail.
    await writeSnapshot(path, hub.state()).catch(() => {});
  }

  const timer = setInterval(() => {
    writing = writing.then(save);
  }, SNAPSHOT_MS);
  timer.unref();
  return {
    hub,
    async stop() {
      clearInterval(timer);
      await writing;
      await save();
    },
  };
}
