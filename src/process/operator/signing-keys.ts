/** The signing keys of the configured zones, wherever they are kept, as an operator lists and rolls them. */
import { InputError, UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { ENCRYPTION_KEY } from '../../dns/dnssec/key-files.ts';
import { dsLines, generateKey, type KeyRole, type KeySet } from '../../dns/dnssec/key-set.ts';
import {
  advance,
  type Confirmation,
  type KeyListing,
  listKeys,
  ROLLOVER_TIMES,
  type RolloverOutcome,
} from '../../dns/dnssec/rollover.ts';
import { isNodeBehind, type NodeReport } from '../../feed/nodes/node-states.ts';
import type { Config } from '../../ops/config/config.ts';
import { deriveKey, requireDataDir } from '../../ops/config/data-dir.ts';
import { runOverStore } from '../use-case-deps.ts';
import { fileZoneKeys, type ZoneKeys } from '../zone-keys/control-secrets.ts';
import { openZoneKeys, refuseSecret } from '../zone-keys/open.ts';
import { type ControlSettings, withControl } from './feed-control.ts';

interface ZoneStep {
  readonly role: KeyRole;
  /** What the operator has checked at the parent. */
  readonly confirmed: Confirmation | null;
  /** As `AdvanceOptions`. */
  readonly anew: boolean;
  /** Tells the step, and takes none. */
  readonly dryRun: boolean;
  /** Whether a key may sign that is not ready on every node. */
  readonly despiteNodes: boolean;
}

export interface SigningKeys {
  readonly zones: readonly string[];
  /** DS records for the parents. */
  ds(): Promise<readonly string[]>;
  list(): Promise<readonly (KeyListing & { readonly zone: string })[]>;
  /** Takes the next step of a rollover, if it is due. Safe to repeat. @throws InputError while nodes are behind */
  roll(zone: string, step: ZoneStep): Promise<RolloverOutcome>;
}

/** Runs over the keys of one zone, or of all. @throws UsageError for a zone that is not served */
export async function withSigningKeys<T>(
  config: Config,
  clock: Clock,
  zone: string | undefined,
  run: (keys: SigningKeys) => Promise<T>,
): Promise<T> {
  const zones = zone === undefined ? config.zones : [zone.replace(/\.$/, '').toLowerCase()];
  if (!zones.every((name) => config.zones.includes(name))) {
    throw new UsageError(`--zone takes one of ${config.zones.join(', ')}`);
  }
  const { dataDir, databaseUrl, feed } = config;
  // Without it this process is the only node, or the processes share a database.
  const control = feed?.end === 'control' ? feed : null;
  const runOver = (keys: ZoneKeys): Promise<T> => run(signingKeys(keys, zones, control, clock));
  if (databaseUrl === null) {
    requireDataDir(dataDir);
    return runOver(fileZoneKeys(dataDir, clock));
  }
  return runOverStore(
    config,
    clock,
    ({ store }, secret) => {
      const key = deriveKey(secret, ENCRYPTION_KEY.label, ENCRYPTION_KEY.octets);
      const mayMake = config.role !== 'edge';
      return runOver(openZoneKeys({ dataDir, store, key, clock, mayMake })).catch(refuseSecret);
    },
    { mayCreate: false },
  );
}

function signingKeys(
  keys: ZoneKeys,
  zones: readonly string[],
  control: ControlSettings | null,
  clock: Clock,
): SigningKeys {
  return {
    zones,
    async ds() {
      const lines = [];
      for (const zone of zones) lines.push(...dsLines(await keys.load(zone)));
      return lines;
    },
    async list() {
      const all = [];
      for (const zone of zones) {
        for (const key of listKeys(await keys.load(zone), ROLLOVER_TIMES)) all.push({ zone, ...key });
      }
      return all;
    },
    async roll(zone, { role, confirmed, anew, dryRun, despiteNodes }) {
      const step = (set: KeySet): { keys: KeySet; outcome: RolloverOutcome } => {
        const now = clock();
        const generate = (of: KeyRole, taken: ReadonlySet<number>) =>
          generateKey(of, 'published', now, taken);
        return advance(set, role, { now, times: ROLLOVER_TIMES, confirmed, anew, generate });
      };
      if (dryRun) return step(await keys.load(zone)).outcome;
      if (control !== null && !despiteNodes) {
        const { outcome } = step(await keys.load(zone));
        await refuseWhileBehind(zone, outcome, () => askReports(control, clock));
      }
      return (await keys.update(zone, step)).outcome;
    },
  };
}

type AskReports = () => Promise<readonly Pick<NodeReport, 'name' | 'state' | 'late'>[]>;

/**
 * A new key may sign only when every node answers it in DNSKEY: without it there, validators that ask that node find the signatures of the
 * others bogus.
 * @throws InputError with the names of the nodes where it is not ready, and of those that are late: it may be or not
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
    `Key ${keyTag} of ${zone} does not sign yet: not every node has answered it for an hour since its start. Behind: ${behind.join(', ')}. ` +
      'Start those that are late, or remove them with "uqrp node remove"; an hour later run this command again. --despite-nodes switches at once.',
  );
}

/** @throws InputError when no control process answers */
async function askReports(control: ControlSettings, clock: Clock): Promise<readonly NodeReport[]> {
  try {
    return await withControl(control, clock, (asked) => asked.nodes());
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(
      `Nobody says which keys the nodes have: ${error.message}. --despite-nodes switches without asking.`,
    );
  }
}
