import { dirname, join } from 'node:path';
import { makeFolder, replaceFile, systemFiles } from '../../base/files.ts';
import { every } from '../../base/lifecycle/loop.ts';
import type { Clock } from '../../base/time.ts';
import { makeResolve } from '../../outbound/connection.ts';
import { createOutboundClient } from '../../outbound/outbound-client.ts';
import { operatorOrigins } from '../../outbound/target.ts';
import { makeProviderClient, type ProviderClient, type ProviderState } from './client.ts';
import { makeFeeds } from './feeds.ts';
import { type AskControl, makeRemoteClient } from './remote.ts';
import { at, type Endpoints, jsonOf, type OnCall } from './source.ts';

interface ProvidersOptions {
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

/** Changes with the form of values and entries: a file of another format is not read. */
const FORMAT = 2;
const MODE = 0o600;

/** The state in the file; null when there is none, or it is damaged or of another format. */
export async function readSnapshot(path: string): Promise<ProviderState | null> {
  const content = await systemFiles.async.read(path).catch(() => null);
  const data = content === null ? undefined : jsonOf(content.toString());
  if (at(data, 'format') !== FORMAT) return null;
  const entries = at(data, 'entries');
  const budgets = at(data, 'budgets');
  if (!Array.isArray(entries) || !Array.isArray(budgets)) return null;
  return {
    entries: entries.filter((row) => isPair(row) && isEntry(row[1])) as ProviderState['entries'],
    budgets: budgets.filter((row) => isPair(row) && isBudget(row[1])) as ProviderState['budgets'],
  };
}

/** Replaces the file. @throws the error of the file system */
export async function writeSnapshot(path: string, state: ProviderState): Promise<void> {
  await makeFolder(dirname(path), 0o700);
  await replaceFile(path, `${JSON.stringify({ format: FORMAT, ...state })}\n`, MODE);
}

function isPair(row: unknown): row is [string, unknown] {
  return Array.isArray(row) && row.length === 2 && typeof row[0] === 'string';
}

function isEntry(value: unknown): boolean {
  const validator = at(value, 'validator');
  return (
    Number.isFinite(at(value, 'at')) &&
    Number.isFinite(at(value, 'freshUntil')) &&
    Number.isFinite(at(value, 'time')) &&
    Number.isFinite(at(value, 'notBefore')) &&
    typeof at(value, 'source') === 'string' &&
    (validator === null || typeof validator === 'string') &&
    at(value, 'value') !== undefined
  );
}

function isBudget(value: unknown): boolean {
  const tokens = at(value, 'tokens');
  return Number.isFinite(at(value, 'at')) && Array.isArray(tokens) && tokens.every(Number.isFinite);
}
