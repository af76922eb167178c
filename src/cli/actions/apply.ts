import { readKeyFile } from '../../../sdk/src/encryption.ts';
import type { RecordResource } from '../../../sdk/src/uqrp-sdk.ts';
import { InputError, UsageError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { readDirectory } from '../apply/directory.ts';
import {
  decryptedRecord,
  encryptedSteps,
  encryptedWants,
  isBoundToKey,
  type PlanKeys,
} from '../apply/encrypted.ts';
import {
  bulkOf,
  countsOf,
  doneLine,
  namingKeys,
  type Plan,
  type PresentRecord,
  planLines,
  planOf,
  type Step,
  settingsLines,
  tooManyDeletions,
  type WantedRecord,
} from '../apply/plan.ts';
import { commandConfig } from '../context.ts';
import { diffOf } from '../diff.ts';
import { ofFile, readSecretFile } from '../key-files.ts';
import { EXIT, escapeControls, print } from '../output.ts';
import { openRest, payloadOfRow, type Rest, recordsOfNamespace } from '../rest.ts';

export interface ApplyOptions {
  readonly namespace?: string;
  readonly dryRun?: boolean;
  /** A dry run that shows what differs. */
  readonly diff?: boolean;
  /** A dry run that ends with code 3 when something differs. */
  readonly check?: boolean;
  readonly prune?: boolean;
  readonly maxDeletes?: string;
  readonly api?: string;
  /** Path of a key file: values are encrypted with its first key. */
  readonly encrypt?: string;
}

export interface PromoteOptions extends Omit<ApplyOptions, 'namespace'> {
  /** Only this resource. */
  readonly resource?: string;
}

/**
 * Makes a namespace hold the files of a directory. Up to 500 changes are one write, all or nothing; each is refused when its record has
 * changed since the plan. Ends with 0 when it is done or nothing differs, 3 with --check when something does.
 * @throws InputError for faults of the directory, refusals of the server, and too many deletions
 */
export async function applyDirectory(dir: string, options: ApplyOptions, json: boolean): Promise<void> {
  const config = commandConfig();
  const rest = openRest(options.api, config);
  const keys = await planKeys(options);
  const { namespace, records } = readDirectory(dir, options.namespace, longestZone(config.zones));
  const wanted = keys === null ? records : encryptedWants(records);
  const plan = planOf(wanted, await presentRecords(rest, namespace, keys), pruning(options));
  await carryOut(rest, plan, keys, options, json);
}

/** Makes a namespace hold the records of another one. Keys that have an expiry there are left out: neither written nor deleted. Throws as `applyDirectory` */
export async function promoteNamespace(
  from: string,
  to: string,
  options: PromoteOptions,
  json: boolean,
): Promise<void> {
  const [source, target] = [from.toLowerCase(), to.toLowerCase()];
  if (source === target) throw new UsageError('give two different namespaces');
  const rest = openRest(options.api, commandConfig());
  const { resource } = options;
  const keys = await planKeys(options);
  const records = await presentRecords(rest, source, keys, resource);
  const leftOut = new Set(records.filter(({ expires }) => expires).map(({ key }) => keyIn(target, key)));
  const promoted = records.filter(({ expires }) => !expires);
  const bound = promoted.filter((record) => record.isEncrypted !== true && isBoundToKey(record));
  for (const { key } of bound)
    warn(`${key} is encrypted or signed for its own key: no reader accepts the copy`);
  const wanted = promoted.map((record) => wantedIn(target, record));
  const present = await presentRecords(rest, target, keys, resource);
  const plan = planOf(
    wanted,
    present.filter(({ key }) => !leftOut.has(key)),
    pruning(options),
  );
  await carryOut(rest, plan, keys, options, json);
}

/** @throws InputError for a file that is no key file */
async function planKeys({ encrypt: path }: ApplyOptions): Promise<PlanKeys | null> {
  if (path === undefined) return null;
  const text = readSecretFile(path);
  return { path, keys: await ofFile(path, () => readKeyFile(text)) };
}

function longestZone(zones: readonly string[]): number {
  return Math.max(...zones.map(({ length }) => length));
}

function pruning({ prune = false }: ApplyOptions): { readonly prune: boolean } {
  return { prune };
}

/** The same key below another namespace. */
function keyIn(namespace: string, key: string): string {
  return key.split('.').with(-2, namespace).join('.');
}

/** The same record below another namespace. */
function wantedIn(namespace: string, record: PresentRecord): WantedRecord {
  const { key, data, contentType, plain, ttlSeconds, isEncrypted = false } = record;
  return { key: keyIn(namespace, key), data, contentType, plain, ttlSeconds, expiresIn: null, isEncrypted };
}

/** Every record of a namespace, decrypted where a key opens it. */
async function presentRecords(
  rest: Rest,
  namespace: string,
  keys: PlanKeys | null,
  resource?: string,
): Promise<readonly PresentRecord[]> {
  const rows = await recordsOfNamespace(rest, namespace, resource);
  const records = rows.map((row) => presentOf(row, rest));
  return keys === null ? records : await Promise.all(records.map((record) => decryptedRecord(keys, record)));
}

function presentOf(row: RecordResource, rest: Rest): PresentRecord {
  return {
    key: row.key,
    data: payloadOfRow(row, rest),
    contentType: row.content_type,
    plain: row.encoding === 'plain',
    ttlSeconds: row.ttl_seconds,
    expires: row.expires_at !== null,
    updatedAt: row.updated_at,
  };
}

async function carryOut(
  rest: Rest,
  plan: Plan,
  keys: PlanKeys | null,
  options: ApplyOptions,
  json: boolean,
): Promise<void> {
  const isDry = [options.dryRun, options.diff, options.check].includes(true);
  const excess = tooManyDeletions(plan, maxDeletes(options.maxDeletes));
  for (const step of plan.steps) {
    if (keys !== null || step.kind !== 'changed' || !isBoundToKey(step.present)) continue;
    // A forgotten option must not publish a password.
    if (!isBoundToKey(step.wanted))
      warn(`${step.key} is encrypted or signed, and this value is not: give --encrypt`);
  }
  if (json) print(JSON.stringify(planJson(plan)));
  else
    for (const line of planLines(plan, options.diff === true ? stepDiff : undefined))
      print(escapeControls(line));
  if (excess !== null) throw new InputError(`${excess}. Nothing was written`);
  if (options.check === true && plan.steps.length > 0) process.exitCode = EXIT.drift;
  if (isDry) return;
  for (let at = 0; at < plan.steps.length; at += LIMITS.bulkItems) {
    const part = plan.steps.slice(at, at + LIMITS.bulkItems);
    const bulk = bulkOf(keys === null ? part : await encryptedSteps(keys, part));
    try {
      await rest.write((api) => api.records.bulk(bulk));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      const before = at === 0 ? '' : `\n${at} of ${plan.steps.length} changes were written before`;
      throw new InputError(`${namingKeys(error.message, bulk)}${before}`);
    }
  }
  if (!json && plan.steps.length > 0) print(doneLine(plan));
}

function warn(text: string): void {
  process.stderr.write(`warning: ${escapeControls(text)}\n`);
}

/** @throws UsageError */
function maxDeletes(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError('--max-deletes takes a whole number');
  return Number(text);
}

function stepDiff(step: Step): readonly string[] {
  const nothing = Buffer.alloc(0);
  const before = step.kind === 'new' ? nothing : step.present.data;
  const after = step.kind === 'deleted' ? nothing : step.wanted.data;
  return [...settingsLines(step), ...diffOf(before, after)].map((line) => `  ${line}`);
}

function planJson(plan: Plan): object {
  const { changed, added, deleted, unchanged } = countsOf(plan);
  return {
    changes: plan.steps.map((step) => ({
      kind: step.kind,
      key: step.key,
      bytes_before: step.kind === 'new' ? null : step.present.data.length,
      bytes_after: step.kind === 'deleted' ? null : step.wanted.data.length,
    })),
    changed,
    new: added,
    deleted,
    unchanged,
  };
}
