/** The cache and the budgets of the provider client in a file, so that a restart repeats no call and keeps to the limits. */

import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '../../../base/files/replace-file.ts';
import { at, jsonOf } from '../sources/parse.ts';
import type { SourceName } from '../sources/source.ts';
import type { BudgetState } from './budget.ts';
import type { CachedReading } from './reading-cache.ts';

export interface ProviderState {
  /** By id, the least recently used one first. */
  readonly entries: readonly (readonly [string, CachedReading])[];
  readonly budgets: readonly (readonly [SourceName, BudgetState])[];
}

/** Changes with the form of values and entries: a file of another format is not read. */
const FORMAT = 2;
const MODE = 0o600;

/** The state in the file; null when there is none, or it is damaged or of another format. */
export async function readSnapshot(path: string): Promise<ProviderState | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  const data = text === null ? undefined : jsonOf(text);
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
  await mkdir(dirname(path), { recursive: true });
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
