/**
 * Key rollovers in steps (RFC 7583): ZSK by pre-publication, KSK by double DS with the key published first, since in
 * `full` mode it signs data too. README.md has the timelines and the reason for each wait.
 */

import { algorithmOf, type KeyRole, type KeySet, type KeyState, type ZoneKey } from './key-set.ts';
import { DNSKEY_TTL } from './signer.ts';

/** Seconds. */
export interface RolloverTimes {
  /** TTL of the DNSKEY rrset. */
  readonly dnskeyTtl: number;
  /** The longest TTL of any signed rrset. */
  readonly maxTtl: number;
  /** TTL of the zone's DS rrset at the parent. */
  readonly parentDsTtl: number;
  /** Until every thread of every node answers with a changed key file. */
  readonly propagation: number;
}

export const ROLLOVER_TIMES: RolloverTimes = {
  dnskeyTtl: DNSKEY_TTL,
  // Dataset answers for validity windows that have ended.
  maxTtl: 604_800,
  parentDsTtl: 86_400,
  propagation: 3600,
};

/** Facts that only the operator can check: all name servers of the parent have the new DS, or none has the old one. */
export type Confirmation = 'ds-added' | 'ds-removed';

/**
 * - `publish`: a new key enters DNSKEY (and CDS, CDNSKEY)
 * - `ds-added`: the operator's confirmation is stored
 * - `switch`: the new key signs, the old one stops
 * - `withdraw`: the old KSK leaves CDS and CDNSKEY
 * - `remove`: the old key leaves DNSKEY and is erased
 */
export type StepName = 'publish' | 'ds-added' | 'switch' | 'withdraw' | 'remove';

export interface NextStep {
  readonly step: StepName;
  readonly keyTag: number;
  /** Earliest time, milliseconds since the epoch. */
  readonly at: number;
  /** Null: the operator has nothing to confirm. */
  readonly confirm: Confirmation | null;
}

export type RolloverOutcome =
  /** `next` is null when the rollover is complete. */
  | {
      readonly kind: 'advanced';
      readonly step: StepName;
      readonly keyTag: number;
      readonly next: NextStep | null;
    }
  /** Too early: nothing was changed. */
  | { readonly kind: 'wait'; readonly next: NextStep }
  /** Nothing was changed: the operator has to check the parent first. */
  | { readonly kind: 'confirm'; readonly next: NextStep }
  /** Nothing was changed: a key made now has to wait until the rollover that is under way is complete. */
  | { readonly kind: 'unfinished'; readonly next: NextStep };

export interface AdvanceOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly times: RolloverTimes;
  readonly confirmed: Confirmation | null;
  /** Only publishes a key, in place of one that was published and is in no use yet: somebody else may have that one. */
  readonly anew?: boolean;
  /** Makes a published key whose tag is not in `taken`. */
  readonly generate: (role: KeyRole, taken: ReadonlySet<number>) => ZoneKey;
}

interface Plan extends NextStep {
  readonly apply: (keys: readonly ZoneKey[], now: number) => readonly ZoneKey[];
}

/** Takes the next step of a rollover if it is due, or starts a rollover. Safe to repeat: too early, it returns the same set. */
export function advance(
  keySet: KeySet,
  role: KeyRole,
  options: AdvanceOptions,
): { keys: KeySet; outcome: RolloverOutcome } {
  const { now, times, confirmed, anew = false } = options;
  const unused = anew ? unusedKey(keySet, role) : undefined;
  const underWay = unused === undefined ? planOf(keySet, role, times) : null;
  if (anew && underWay !== null) {
    return { keys: keySet, outcome: { kind: 'unfinished', next: stepOf(underWay) } };
  }
  const plan = underWay ?? beginning(keySet, role, options, unused);
  const next = stepOf(plan);
  if (now < plan.at) return { keys: keySet, outcome: { kind: 'wait', next } };
  if (plan.confirm !== null && plan.confirm !== confirmed) {
    return { keys: keySet, outcome: { kind: 'confirm', next } };
  }
  const keys = { zone: keySet.zone, keys: plan.apply(keySet.keys, now) };
  const { step, keyTag } = plan;
  return { keys, outcome: { kind: 'advanced', step, keyTag, next: nextStep(keys, role, times) } };
}

/** The next step of this role's rollover; null when none is under way. */
export function nextStep(keySet: KeySet, role: KeyRole, times: RolloverTimes): NextStep | null {
  const plan = planOf(keySet, role, times);
  return plan === null ? null : stepOf(plan);
}

export interface KeyListing {
  readonly role: KeyRole;
  readonly keyTag: number;
  readonly algorithm: string;
  readonly state: KeyState;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly stateSince: number;
  /** The step that this key waits for, or null. */
  readonly next: NextStep | null;
}

/** One line a key, for `dnssec keys`; nothing secret. */
export function listKeys(keySet: KeySet, times: RolloverTimes): readonly KeyListing[] {
  return keySet.keys.map(({ role, keyTag, algorithm, state, createdAt, stateSince }) => {
    const next = nextStep(keySet, role, times);
    return {
      role,
      keyTag,
      algorithm: algorithmOf(algorithm).name,
      state,
      createdAt,
      stateSince,
      next: next?.keyTag === keyTag ? next : null,
    };
  });
}

function stepOf({ step, keyTag, at, confirm }: Plan): NextStep {
  return { step, keyTag, at, confirm };
}

/**
 * A key that may leave DNSKEY at any time: it has signed nothing that a cache may hold, and nobody has noted its DS at the parent. Even if the
 * parent has that DS already, the active KSK's is there too, and validators need one that fits (RFC 4035 §5.2).
 */
function unusedKey({ keys }: KeySet, role: KeyRole): ZoneKey | undefined {
  return keys.find((key) => key.role === role && key.state === 'published' && key.dsSeenAt === null);
}

/** @param unused leaves with the same step */
function beginning(
  keySet: KeySet,
  role: KeyRole,
  { now, generate }: AdvanceOptions,
  unused: ZoneKey | undefined,
): Plan {
  const fresh = generate(role, new Set(keySet.keys.map(({ keyTag }) => keyTag)));
  return {
    step: 'publish',
    keyTag: fresh.keyTag,
    at: now,
    confirm: null,
    apply: (keys) => [
      ...keys.filter(({ keyTag }) => keyTag !== unused?.keyTag),
      { ...fresh, state: 'published', stateSince: now },
    ],
  };
}

/** The step that follows each state. An active key waits for none. */
const PLANS: Readonly<
  Record<KeyRole, Partial<Record<KeyState, (key: ZoneKey, times: RolloverTimes) => Plan>>>
> = {
  zsk: {
    published: (key, times) => switchTo(key, after(key.stateSince, times.dnskeyTtl + times.propagation)),
    retired: (key, times) => remove(key, after(key.stateSince, times.maxTtl + times.propagation), null),
  },
  ksk: {
    published(key, times) {
      if (key.dsSeenAt === null) return noteDs(key);
      const keyIsKnown = after(key.stateSince, times.dnskeyTtl + times.propagation);
      return switchTo(key, Math.max(keyIsKnown, after(key.dsSeenAt, times.parentDsTtl)));
    },
    retired: (key, times) => ({
      step: 'withdraw',
      keyTag: key.keyTag,
      at: after(key.stateSince, times.dnskeyTtl + times.propagation),
      confirm: null,
      apply: (keys, now) => replaced(keys, key, { state: 'withdrawn', stateSince: now }),
    }),
    withdrawn: (key, times) =>
      remove(key, after(key.stateSince, times.maxTtl + times.propagation), 'ds-removed'),
  },
};

function planOf({ keys }: KeySet, role: KeyRole, times: RolloverTimes): Plan | null {
  for (const key of keys) {
    const plan = key.role === role ? PLANS[role][key.state] : undefined;
    if (plan !== undefined) return plan(key, times);
  }
  return null;
}

function noteDs(key: ZoneKey): Plan {
  return {
    step: 'ds-added',
    keyTag: key.keyTag,
    at: key.stateSince,
    confirm: 'ds-added',
    apply: (keys, now) => replaced(keys, key, { dsSeenAt: now }),
  };
}

function switchTo(key: ZoneKey, at: number): Plan {
  return {
    step: 'switch',
    keyTag: key.keyTag,
    at,
    confirm: null,
    apply(keys, now) {
      return keys.map((other) => {
        if (other.role !== key.role) return other;
        return { ...other, state: other.keyTag === key.keyTag ? 'active' : 'retired', stateSince: now };
      });
    },
  };
}

function remove(key: ZoneKey, at: number, confirm: Confirmation | null): Plan {
  return {
    step: 'remove',
    keyTag: key.keyTag,
    at,
    confirm,
    apply: (keys) => keys.filter(({ keyTag }) => keyTag !== key.keyTag),
  };
}

function replaced(
  keys: readonly ZoneKey[],
  key: ZoneKey,
  change: Partial<Pick<ZoneKey, 'state' | 'stateSince' | 'dsSeenAt'>>,
): readonly ZoneKey[] {
  return keys.map((other) => (other.keyTag === key.keyTag ? { ...other, ...change } : other));
}

function after(since: number, seconds: number): number {
  return since + seconds * 1000;
}
