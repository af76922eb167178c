/** Asks a control process which nodes have not reported a signing key yet: a rollover waits for them. */

import type { Clock } from '../../base/time.ts';
import { ENCRYPTION_KEY } from '../../dns/dnssec/key-files.ts';
import { dsLines, generateKey, type KeyRole, type KeySet } from '../../dns/dnssec/key-set.ts';
import {
  advance,
  type Confirmation,
  type KeyListing,
  listKeys,
  type NextStep,
  ROLLOVER_TIMES,
  type RolloverOutcome,
} from '../../dns/dnssec/rollover.ts';
import { isNodeBehind, type NodeReport } from '../../feed/nodes/node-states.ts';
import { askNodes } from '../../feed/nodes/operator.ts';
import { loadConfig } from '../../ops/config/config.ts';
import { deriveKey } from '../../ops/config/data-dir.ts';
import { readEnvironment } from '../../ops/config/env.ts';
import type { FeedSettings } from '../../ops/config/feed-settings.ts';
import { fileZoneKeys, type ZoneKeys } from '../../process/zone-keys/control-secrets.ts';
import { openZoneKeys, refuseSecret } from '../../process/zone-keys/open.ts';
import { configWithData, withStore } from '../context.ts';
import { type ControlSettings, withControl } from '../control-connection.ts';
import { InputError, print, table, UsageError } from '../output.ts';

type AskReports = () => Promise<readonly Pick<NodeReport, 'name' | 'state' | 'late'>[]>;

/**
 * A new key may sign only when every node answers it in DNSKEY: without it there, validators that ask that node find the signatures of the
 * others bogus.
 * @throws InputError with the names of the nodes that have not reported it, and of those that are late: they may have it or not
 */
export async function refuseWhileBehind(
  zone: string,
  outcome: RolloverOutcome,
  ask: AskReports,
): Promise<void> {
  if (outcome.kind !== 'advanced' || outcome.step !== 'switch') return;
  const { keyTag } = outcome;
  const behind = (await ask())
    .filter((node) => isNodeBehind(node, zone, keyTag))
    .map(({ name, late }) => (late ? `${name} (late)` : name));
  if (behind.length === 0) return;
  throw new InputError(
    `Key ${keyTag} of ${zone} does not sign yet: not every node has reported it. Behind: ${behind.join(', ')}. ` +
      'Start these nodes, or remove them with "uqrp node remove"; then run this command again. --despite-nodes switches at once.',
  );
}

/** @throws InputError when no control process answers */
async function askReports(control: ControlSettings, clock: Clock): Promise<readonly NodeReport[]> {
  try {
    return await withControl(control, clock, askNodes);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(
      `Nobody says which keys the nodes have: ${error.message}. --despite-nodes switches without asking.`,
    );
  }
}

export interface DnssecOptions {
  readonly zone?: string;
}

export interface RolloverOptions extends DnssecOptions {
  readonly confirm?: string;
  readonly dryRun?: boolean;
  readonly despiteNodes?: boolean;
}

type ListedKey = KeyListing & { readonly zone: string };

/** The DS records to be set at the parent: of one zone, or of all. */
export async function dnssecDs(clock: Clock, options: DnssecOptions, json: boolean): Promise<void> {
  const lines = await withKeys(clock, options, async (keys, zones) => {
    const sets = [];
    for (const zone of zones) sets.push(await keys.load(zone));
    return sets.flatMap(dsLines);
  });
  print(json ? JSON.stringify(lines) : lines.join('\n'));
}

export async function dnssecKeys(clock: Clock, options: DnssecOptions, json: boolean): Promise<void> {
  const listed = await withKeys(clock, options, async (keys, zones) => {
    const all = [];
    for (const zone of zones) {
      for (const key of listKeys(await keys.load(zone), ROLLOVER_TIMES)) all.push({ zone, ...key });
    }
    return all;
  });
  if (json) {
    print(JSON.stringify(listed.map(keyJson)));
    return;
  }
  const rows = listed.map(({ zone, role, keyTag, algorithm, state, stateSince, next }) => [
    zone,
    role,
    String(keyTag),
    algorithm,
    state,
    new Date(stateSince).toISOString(),
    next === null ? '' : describeStep(next),
  ]);
  print(table([['ZONE', 'ROLE', 'TAG', 'ALGORITHM', 'STATE', 'SINCE', 'NEXT'], ...rows]));
}

/** Takes the next step of a rollover, or prints what it waits for. Safe to repeat. With `dryRun` nothing is changed. */
export async function dnssecRollover(
  clock: Clock,
  role: string,
  options: RolloverOptions,
  json: boolean,
): Promise<void> {
  if (role !== 'zsk' && role !== 'ksk') throw new UsageError('a rollover is of the zsk or the ksk');
  const confirmed = parseConfirmation(options.confirm);
  const dryRun = options.dryRun === true;
  const feed = controlFeed();
  const step = (keys: KeySet): { keys: KeySet; outcome: RolloverOutcome } => {
    const now = clock();
    const generate = (of: KeyRole, taken: ReadonlySet<number>) => generateKey(of, 'published', now, taken);
    return advance(keys, role, { now, times: ROLLOVER_TIMES, confirmed, generate });
  };
  await withKeys(clock, options, async (keys, zones) => {
    for (const zone of zones) {
      if (!dryRun && feed !== null && options.despiteNodes !== true) {
        const { outcome } = step(await keys.load(zone));
        await refuseWhileBehind(zone, outcome, () => askReports(feed, clock));
      }
      const { outcome } = dryRun ? step(await keys.load(zone)) : await keys.update(zone, step);
      if (json) print(JSON.stringify({ zone, dry_run: dryRun, ...outcomeJson(outcome, dryRun) }));
      else print(`${zone}: ${describe(outcome, dryRun)}`);
    }
  });
}

/** Null: this process is the only node, or the processes share a database. */
function controlFeed(): Extract<FeedSettings, { readonly end: 'control' }> | null {
  const { feed } = loadConfig(readEnvironment());
  return feed?.end === 'control' ? feed : null;
}

function describe(outcome: RolloverOutcome, dryRun: boolean): string {
  if (outcome.kind === 'advanced') {
    if (dryRun) {
      const key = outcome.step === 'publish' ? 'a new key' : `key ${outcome.keyTag}`;
      return `the next step is ${outcome.step} of ${key}, and may be taken now; nothing was changed`;
    }
    const done = `${outcome.step} of key ${outcome.keyTag} is done`;
    return outcome.next === null
      ? `${done}; the rollover is complete`
      : `${done}; next: ${describeStep(outcome.next)}`;
  }
  const waits = outcome.kind === 'wait' ? 'too early' : 'it needs your confirmation';
  return `nothing changed, ${waits}: ${describeStep(outcome.next)}`;
}

const CONFIRMATIONS: Readonly<Record<Confirmation, string>> = {
  'ds-added': 'once the new DS is at all name servers of the parent: --confirm ds-added',
  'ds-removed': 'once the old DS is gone from the parent: --confirm ds-removed',
};

function describeStep({ step, keyTag, at, confirm }: NextStep): string {
  const words = `${step} ${keyTag}, not before ${new Date(at).toISOString()}`;
  return confirm === null ? words : `${words}, ${CONFIRMATIONS[confirm]}`;
}

function parseConfirmation(text: string | undefined): Confirmation | null {
  if (text === undefined) return null;
  if (text === 'ds-added' || text === 'ds-removed') return text;
  throw new UsageError('--confirm takes ds-added or ds-removed');
}

/** Runs a command over the keys of the zones that it names, wherever the configuration keeps them. */
async function withKeys<T>(
  clock: Clock,
  { zone }: DnssecOptions,
  run: (keys: ZoneKeys, zones: readonly string[]) => Promise<T>,
): Promise<T> {
  const config = loadConfig(readEnvironment());
  const zones = zone === undefined ? config.zones : [zone.replace(/\.$/, '').toLowerCase()];
  if (!zones.every((name) => config.zones.includes(name))) {
    throw new UsageError(`--zone takes one of ${config.zones.join(', ')}`);
  }
  if (config.databaseUrl === null) return run(fileZoneKeys(configWithData().dataDir, clock), zones);
  return withStore(clock, ({ deps: { store }, secret }) => {
    const key = deriveKey(secret, ENCRYPTION_KEY.label, ENCRYPTION_KEY.octets);
    const mayMake = config.role !== 'edge';
    return run(openZoneKeys({ dataDir: config.dataDir, store, key, clock, mayMake }), zones).catch(
      refuseSecret,
    );
  });
}

function keyJson({ zone, role, keyTag, algorithm, state, createdAt, stateSince, next }: ListedKey): object {
  return {
    zone,
    role,
    key_tag: keyTag,
    algorithm,
    state,
    created_at: new Date(createdAt).toISOString(),
    state_since: new Date(stateSince).toISOString(),
    next: next === null ? null : stepJson(next),
  };
}

function stepJson({ step, keyTag, at, confirm }: NextStep): object {
  return { step, key_tag: keyTag, not_before: new Date(at).toISOString(), confirm };
}

/** The tag of a key that a dry run would have made means nothing: null. */
function outcomeJson(outcome: RolloverOutcome, dryRun: boolean): object {
  if (outcome.kind !== 'advanced') return { kind: outcome.kind, next: stepJson(outcome.next) };
  const { step, keyTag, next } = outcome;
  if (dryRun) return { kind: 'possible', step, key_tag: step === 'publish' ? null : keyTag, next: null };
  return { kind: 'advanced', step, key_tag: keyTag, next: next === null ? null : stepJson(next) };
}
