import assert from 'node:assert/strict';
import type { Case, Expected } from './cases.ts';
import type { Validation, Validator } from './daemon.ts';
import { LARGE, SMALL } from './world.ts';

export interface PlayOptions {
  readonly zone: string;
  readonly token: string;
  /** The least TTL that the validator gives an answer, seconds. */
  readonly minTtl?: number;
  /** Types that are not asked for: see `Daemon`. */
  readonly declines?: readonly string[];
  /** It does not show what is in the records. */
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

/** Puts the questions in their order; all that came out wrong is told at once. */
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

/** Nothing may be secure. */
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

/** DS records of keys that the zone has not: the last digit of each digest is another. */
export function wrongDs(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.slice(0, -1) + (line.endsWith('0') ? '1' : '0'));
}

function fullName(name: string, zone: string, token: string): string {
  return `${name === '' ? '' : `${name.replace('$T', token)}.`}${zone}`;
}
