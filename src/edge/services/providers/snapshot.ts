/** What the hub knows, in a file: a restart asks no provider for what it had, and forgets no budget that was used. */

import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { BudgetState } from './budget.ts';
import type { Entry } from './cache.ts';
import { at, jsonOf } from './parse.ts';
import type { SourceName } from './source.ts';

export interface HubState {
  /** By id, the least recently used one first. */
  readonly entries: readonly (readonly [string, Entry])[];
  readonly budgets: readonly (readonly [SourceName, BudgetState])[];
}

/** Another number with every change of what a feed's values or an entry look like: an older file is not read. */
const FORMAT = 2;
const MODE = 0o600;

/** The file's state, or null: none there, of another format, or not whole. */
export async function readSnapshot(path: string): Promise<HubState | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  const data = text === null ? undefined : jsonOf(text);
  if (at(data, 'format') !== FORMAT) return null;
  const entries = at(data, 'entries');
  const budgets = at(data, 'budgets');
  if (!Array.isArray(entries) || !Array.isArray(budgets)) return null;
  return {
    entries: entries.filter((row) => isPair(row) && isEntry(row[1])) as HubState['entries'],
    budgets: budgets.filter((row) => isPair(row) && isBudget(row[1])) as HubState['budgets'],
  };
}

/** Written whole under another name and moved into place. Rejects with the system's error. */
export async function writeSnapshot(path: string, state: HubState): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await mkdir(dirname(path), { recursive: true });
  try {
    const file = await open(draft, 'wx', MODE);
    try {
      await file.writeFile(`${JSON.stringify({ format: FORMAT, ...state })}\n`);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
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
