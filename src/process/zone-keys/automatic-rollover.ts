/** Rolls the signing keys of zones when they are old enough (UQRP_DNSSEC_ROLLOVER), one step of `rollover.ts` at a time. */

import { every } from '../../base/lifecycle/loop.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { dsText, generateKey, type KeyRole, type KeySet, type ZoneKey } from '../../dns/dnssec/key-set.ts';
import {
  advance,
  type NextStep,
  nextStep,
  ROLLOVER_TIMES,
  type StepName,
} from '../../dns/dnssec/rollover.ts';
import type { ZoneKeys } from './control-secrets.ts';

/**
 * What a due step waits for.
 * - `parent`: the resolvers do not show the DS records at the parent that the step needs
 * - `resolvers`: no resolver answers
 * - `nodes`: the key that is to sign is not ready on every node
 */
export type RolloverWait = 'parent' | 'resolvers' | 'nodes';

/** Days that a key signs before it is replaced. */
export type KeyDays = Readonly<Record<KeyRole, number>>;

export interface AutomaticRolloverOptions {
  readonly keys: Pick<ZoneKeys, 'load' | 'update'>;
  /** Empty where answers are not signed. */
  readonly zones: readonly string[];
  /** Null: keys are looked at, and never changed. */
  readonly days: KeyDays | null;
  /** The DS records of a zone in presentation form (`12345 13 2 0A1B...`), as each resolver that answered sees them. Never rejects. */
  readonly parentDs: (zone: string) => Promise<readonly (readonly string[])[]>;
  /** Nodes where this key of the zone is not ready, or that are late. */
  readonly nodesBehind: (zone: string, keyTag: number) => number;
  readonly clock: Clock;
  /** The three must not throw. */
  readonly onStep: (role: KeyRole, step: StepName, keyTag: number) => void;
  readonly onWaiting: (role: KeyRole, step: StepName, wait: RolloverWait) => void;
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers | undefined;
}

/** One role, over all zones. */
export interface KeyStatus {
  readonly role: KeyRole;
  /** When the key that has signed for longest began to sign, milliseconds since the epoch; null before the first look. */
  readonly signsSince: number | null;
  /** A step is due and waits. */
  readonly waits: boolean;
}

export interface AutomaticRollover {
  status(): readonly KeyStatus[];
  stop(): Promise<void>;
}

const ROLES: readonly KeyRole[] = ['zsk', 'ksk'];
const DAY_MS = 86_400_000;
const PASS_MS = 3_600_000;
/** After a start no node has told its keys yet. */
const NODES_MS = 60_000;

/** Does what is due at once, and then every hour. */
export function startAutomaticRollover(options: AutomaticRolloverOptions): AutomaticRollover {
  const { zones, onError, timers } = options;
  let status: readonly KeyStatus[] = ROLES.map((role) => ({ role, signsSince: null, waits: false }));
  let nextMs = 0;

  const repeating = every({
    ms: () => nextMs,
    onError,
    async task() {
      nextMs = PASS_MS;
      const found: KeyStatus[] = [];
      for (const role of ROLES) {
        let signsSince: number | null = null;
        let waits = false;
        for (const zone of zones) {
          try {
            const { set, wait } = await look(zone, role, options);
            signsSince = Math.min(signsSince ?? Infinity, activeKey(set, role).stateSince);
            if (wait === 'nodes') nextMs = NODES_MS;
            waits ||= wait !== null;
          } catch (error) {
            // The other zones and the other role go on.
            onError(error);
          }
        }
        found.push({ role, signsSince, waits });
      }
      status = found;
    },
    timers,
  });
  return { status: () => status, stop: () => repeating.stop() };
}

/** Takes the step that is due in one zone, if nothing keeps it. */
async function look(
  zone: string,
  role: KeyRole,
  options: AutomaticRolloverOptions,
): Promise<{ readonly set: KeySet; readonly wait: RolloverWait | null }> {
  const set = await options.keys.load(zone);
  const due = dueStep(set, role, options);
  if (due === null) return { set, wait: null };
  const wait = due === 'begin' ? null : await waitOf(set, due, options);
  if (wait !== null && due !== 'begin') {
    options.onWaiting(role, due.step, wait);
    return { set, wait };
  }
  return { set: await take(zone, role, due, options), wait: null };
}

/** `begin`: the key that signs is old enough, and no rollover of its role is under way. */
function dueStep(
  set: KeySet,
  role: KeyRole,
  { days, clock }: AutomaticRolloverOptions,
): NextStep | 'begin' | null {
  if (days === null) return null;
  const next = nextStep(set, role, ROLLOVER_TIMES);
  if (next !== null) return clock() >= next.at ? next : null;
  return clock() - activeKey(set, role).stateSince >= days[role] * DAY_MS ? 'begin' : null;
}

async function waitOf(
  set: KeySet,
  { step, keyTag, confirm }: NextStep,
  { parentDs, nodesBehind }: AutomaticRolloverOptions,
): Promise<RolloverWait | null> {
  const key = set.keys.find((one) => one.keyTag === keyTag)!;
  if (step === 'switch' && nodesBehind(set.zone, keyTag) > 0) return 'nodes';
  // A parent that took the new DS back would make the zone fail with the switch.
  if (confirm === null && !(key.role === 'ksk' && step === 'switch')) return null;
  const seen = await parentDs(set.zone);
  if (seen.length === 0) return 'resolvers';
  return seen.every((lines) => parentFits(set, key, lines)) ? null : 'parent';
}

/** The parent has the DS of the KSK that is to stay, and of a withdrawn one no more. */
function parentFits(set: KeySet, key: ZoneKey, lines: readonly string[]): boolean {
  const folded = lines.map((line) => line.toUpperCase());
  const has = (one: ZoneKey): boolean => folded.includes(dsText(set.zone, one).toUpperCase());
  return key.state === 'withdrawn' ? !has(key) && has(activeKey(set, 'ksk')) : has(key);
}

/** Another process, or an operator, may have moved the keys on meanwhile: then nothing is changed. */
async function take(
  zone: string,
  role: KeyRole,
  due: NextStep | 'begin',
  options: AutomaticRolloverOptions,
): Promise<KeySet> {
  const { keys, clock, onStep } = options;
  const isStillDue = (set: KeySet): boolean => {
    const now = dueStep(set, role, options);
    if (now === null || now === 'begin' || due === 'begin') return now === due;
    return now.step === due.step && now.keyTag === due.keyTag;
  };
  const { keys: set, outcome } = await keys.update(zone, (before) => {
    if (!isStillDue(before)) return { keys: before, outcome: null };
    const now = clock();
    return advance(before, role, {
      now,
      times: ROLLOVER_TIMES,
      confirmed: due === 'begin' ? null : due.confirm,
      generate: (of, taken) => generateKey(of, 'published', now, taken),
    });
  });
  if (outcome?.kind === 'advanced') onStep(role, outcome.step, outcome.keyTag);
  return set;
}

function activeKey({ keys }: KeySet, role: KeyRole): ZoneKey {
  return keys.find((key) => key.role === role && key.state === 'active')!;
}
