/** `dnssec ds`, `dnssec keys` and `dnssec rollover`. */
import { UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { type SigningKeys, withSigningKeys } from '../../process/operator/signing-keys.ts';
import { commandConfig } from '../context.ts';
import { print, table } from '../output.ts';

export interface DnssecOptions {
  readonly zone?: string;
}

export interface RolloverOptions extends DnssecOptions {
  readonly confirm?: string;
  readonly anew?: boolean;
  readonly dryRun?: boolean;
  readonly despiteNodes?: boolean;
}

type ListedKey = Awaited<ReturnType<SigningKeys['list']>>[number];
type Outcome = Awaited<ReturnType<SigningKeys['roll']>>;
type NextStep = NonNullable<Outcome['next']>;
type Confirmation = NonNullable<NextStep['confirm']>;

/** The DS records to be set at the parent: of one zone, or of all. */
export async function dnssecDs(clock: Clock, { zone }: DnssecOptions, json: boolean): Promise<void> {
  const lines = await withSigningKeys(commandConfig(), clock, zone, (keys) => keys.ds());
  print(json ? JSON.stringify(lines) : lines.join('\n'));
}

export async function dnssecKeys(clock: Clock, { zone: asked }: DnssecOptions, json: boolean): Promise<void> {
  const listed = await withSigningKeys(commandConfig(), clock, asked, (keys) => keys.list());
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

/** Takes the next step of a rollover, or prints what it waits for. Safe to repeat, but for `anew`. With `dryRun` nothing is changed. */
export async function dnssecRollover(
  clock: Clock,
  role: string,
  options: RolloverOptions,
  json: boolean,
): Promise<void> {
  if (role !== 'zsk' && role !== 'ksk') throw new UsageError('a rollover is of the zsk or the ksk');
  const confirmed = parseConfirmation(options.confirm);
  const anew = options.anew === true;
  const dryRun = options.dryRun === true;
  const despiteNodes = options.despiteNodes === true;
  await withSigningKeys(commandConfig(), clock, options.zone, async (keys) => {
    for (const zone of keys.zones) {
      const outcome = await keys.roll(zone, { role, confirmed, anew, dryRun, despiteNodes });
      if (json) print(JSON.stringify({ zone, dry_run: dryRun, ...outcomeJson(outcome, dryRun) }));
      else print(`${zone}: ${describe(outcome, dryRun)}`);
    }
  });
}

function describe(outcome: Outcome, dryRun: boolean): string {
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
  return `nothing changed, ${REASONS[outcome.kind]}: ${describeStep(outcome.next)}`;
}

const REASONS: Readonly<Record<Exclude<Outcome['kind'], 'advanced'>, string>> = {
  wait: 'too early',
  confirm: 'it needs your confirmation',
  unfinished: 'take the steps of the rollover that is under way to their end, then repeat this command',
};

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
function outcomeJson(outcome: Outcome, dryRun: boolean): object {
  if (outcome.kind !== 'advanced') return { kind: outcome.kind, next: stepJson(outcome.next) };
  const { step, keyTag, next } = outcome;
  if (dryRun) return { kind: 'possible', step, key_tag: step === 'publish' ? null : keyTag, next: null };
  return { kind: 'advanced', step, key_tag: keyTag, next: next === null ? null : stepJson(next) };
}
