import type { Clock } from '../core/clock.ts';
import type { KeyRole } from '../edge/dnssec/algorithms.ts';
import { dsLines } from '../edge/dnssec/ds.ts';
import { loadKeys, updateKeys } from '../edge/dnssec/key-store.ts';
import { generateKey } from '../edge/dnssec/keys.ts';
import {
  advance,
  type Confirmation,
  listKeys,
  type NextStep,
  ROLLOVER_TIMES,
  type RolloverOutcome,
} from '../edge/dnssec/rollover.ts';
import { configWithData } from './context.ts';
import { print, table, UsageError } from './output.ts';

export interface DnssecOptions {
  readonly zone?: string;
  readonly confirm?: string;
}

/** The DS records to be set at the parent: of one zone, or of all. */
export function dnssecDs(clock: Clock, options: DnssecOptions, json: boolean): void {
  const { dataDir, zones } = context(options);
  const lines = zones.flatMap((zone) => dsLines(loadKeys(dataDir, zone, clock)));
  print(json ? JSON.stringify(lines) : lines.join('\n'));
}

export function dnssecKeys(clock: Clock, options: DnssecOptions, json: boolean): void {
  const { dataDir, zones } = context(options);
  const keys = zones.flatMap((zone) =>
    listKeys(loadKeys(dataDir, zone, clock), ROLLOVER_TIMES).map((key) => ({ zone, ...key })),
  );
  if (json) {
    print(JSON.stringify(keys));
    return;
  }
  const rows = keys.map(({ zone, role, keyTag, algorithm, state, stateSince, next }) => [
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

/** Takes the next step of a rollover, or says what it waits for. Safe to repeat. */
export function dnssecRollover(clock: Clock, role: string, options: DnssecOptions, json: boolean): void {
  if (role !== 'zsk' && role !== 'ksk') throw new UsageError('a rollover is of the zsk or the ksk');
  const confirmed = parseConfirmation(options.confirm);
  const { dataDir, zones } = context(options);
  for (const zone of zones) {
    const { outcome } = updateKeys(dataDir, zone, clock, (keys) => {
      const now = clock();
      const generate = (of: KeyRole, taken: ReadonlySet<number>) => generateKey(of, 'published', now, taken);
      return advance(keys, role, { now, times: ROLLOVER_TIMES, confirmed, generate });
    });
    print(json ? JSON.stringify({ zone, ...outcome }) : `${zone}: ${describe(outcome)}`);
  }
}

function describe(outcome: RolloverOutcome): string {
  if (outcome.kind === 'advanced') {
    const done = `${outcome.step} of key ${outcome.keyTag} is done`;
    return outcome.next === null
      ? `${done}; the rollover is complete`
      : `${done}; next: ${describeStep(outcome.next)}`;
  }
  const waits = outcome.kind === 'wait' ? 'too early' : 'needs your word';
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

function context({ zone }: DnssecOptions): { dataDir: string; zones: readonly string[] } {
  const { dataDir, zones } = configWithData();
  if (zone === undefined) return { dataDir, zones };
  const name = zone.replace(/\.$/, '').toLowerCase();
  if (!zones.includes(name)) throw new UsageError(`--zone takes one of ${zones.join(', ')}`);
  return { dataDir, zones: [name] };
}
