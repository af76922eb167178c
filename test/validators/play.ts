import assert from 'node:assert/strict';
import type { Case, Expected } from './cases.ts';
import type { Validation, Validator } from './daemon.ts';
import { LARGE, SMALL } from './world.ts';

export interface PlayOptions {
  readonly zone: string;
  readonly token: string;
  /** Minimum TTL of the validator's answers, seconds. */
  readonly minTtl?: number;
  /** Types that are skipped: see `Daemon`. */
  readonly declines?: readonly string[];
  /** It does not print rdata. */
  readonly isBlind?: boolean;
}

const CHECKS: Readonly<Record<Expected, (validation: Validation) => boolean>> = {
  small: ({ status, payload }) => status === 'secure' && payload === SMALL,
  large: ({ status, payload }) => status === 'secure' && payload === LARGE,
  denied: ({ status, records }) => status === 'secure' && records === 0,
  some: ({ status, records }) => status === 'secure' && records > 0,
  any: ({ status }) => status === 'secure',
  unproven: ({ status }) => status !== 'failed',
  failed: ({ status }) => status === 'failed',
};

/** Asks all questions in order. Fails with a list of all wrong results. */
export async function play(
  validator: Validator,
  cases: readonly Case[],
  options: PlayOptions,
): Promise<void> {
  const wrong: string[] = [];
  for (const { name, type, expected, isPrivate } of cases) {
    const { zone, token, minTtl = 0, declines = [], isBlind = false } = options;
    if (declines.includes(type)) continue;
    const validation = await validator.ask(fullName(name, zone, token), type);
    const check = isBlind && (expected === 'small' || expected === 'large') ? 'some' : expected;
    const { status, records, ttl, detail } = validation;
    if (!CHECKS[check](validation)) {
      wrong.push(`${name || '@'} ${type}: ${status}, ${records} records (${detail}), not ${expected}`);
    } else if (isPrivate && ttl !== null && ttl > minTtl) {
      wrong.push(`${name} ${type}: TTL ${ttl}`);
    }
  }
  assert.deepEqual(wrong, [], options.zone);
}

/** No result may be secure. */
export async function playBogus(
  validator: Validator,
  cases: readonly Case[],
  { zone, token }: PlayOptions,
): Promise<void> {
  const believed: string[] = [];
  for (const { name, type } of cases) {
    const { status } = await validator.ask(fullName(name, zone, token), type);
    if (status !== 'failed') believed.push(`${name || '@'} ${type}: ${status}`);
  }
  assert.deepEqual(believed, [], zone);
}

/** DS records that match no key of the zone: the last digit of each digest is changed. */
export function wrongDs(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.slice(0, -1) + (line.endsWith('0') ? '1' : '0'));
}

function fullName(name: string, zone: string, token: string): string {
  return `${name === '' ? '' : `${name.replace('$T', token)}.`}${zone}`;
}
