/** A directory of files as the records that a namespace shall hold. */

import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { decodeBase64 } from '../../protocol/encodings.ts';
import { isJsonObject, type JsonObject } from '../../protocol/input/fields.ts';
import { parseRecordKey } from '../../protocol/names/record-key.ts';
import { isPlainText } from '../../protocol/query/envelope.ts';
import type { WantedRecord } from './plan.ts';

const SETTINGS_FILE = 'uqrp.json';
const TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  txt: 'text/plain',
  md: 'text/markdown',
  html: 'text/html',
  csv: 'text/csv',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  xml: 'application/xml',
};
const DEFAULT_TYPE = 'application/octet-stream';

interface KeySettings {
  readonly ttl_seconds?: number;
  readonly expires_in?: number;
  /** `base64`: the file holds Base64 of the octets. */
  readonly encoding?: 'base64';
  /** Whether DNS answers carry the data in plain text. */
  readonly plain?: boolean;
}

interface Settings {
  readonly namespace: string | null;
  readonly ttlSeconds: number;
  /** Media types by file ending, without a dot. */
  readonly types: Readonly<Record<string, string>>;
  /** By key. */
  readonly settings: Readonly<Record<string, KeySettings>>;
}

interface Directory {
  readonly namespace: string;
  readonly records: readonly WantedRecord[];
}

/**
 * Reads a directory: `flags/dark-mode.json` is `dark-mode.flags.NS.v1`, `flags@v2/x.txt` is version 2, `greeting.txt` is `greeting.NS.v1`.
 * Dots of a file name are dots of the key. Names that begin with a dot are left out.
 * @param namespace option --namespace; else that of `uqrp.json`
 * @param zoneLength letters of the longest zone
 * @throws InputError with every fault of the directory, before anything is sent
 */
export function readDirectory(dir: string, namespace: string | undefined, zoneLength: number): Directory {
  const faults: string[] = [];
  const settings = readSettings(dir, faults);
  const name = (namespace ?? settings.namespace ?? '').toLowerCase();
  if (name === '') faults.push(`give --namespace, or "namespace" in ${join(dir, SETTINGS_FILE)}`);
  if (faults.length > 0) throw new InputError(faults.join('\n'));
  const records = new Map<string, WantedRecord>();
  const pathOf = new Map<string, string>();
  for (const { path, group } of filesOf(dir, faults)) {
    const key = keyOf(path, group, name, zoneLength);
    if (typeof key !== 'string') {
      faults.push(`${join(dir, path)}: ${key.fault}`);
      continue;
    }
    const other = pathOf.get(key);
    if (other !== undefined)
      faults.push(`${join(dir, path)} and ${join(dir, other)} are the same key ${key}`);
    pathOf.set(key, path);
    const record = recordOf(dir, path, key, settings);
    if (typeof record === 'string') faults.push(`${join(dir, path)} ${record}`);
    else records.set(key, record);
  }
  for (const key of Object.keys(settings.settings)) {
    if (!pathOf.has(key))
      faults.push(`${join(dir, SETTINGS_FILE)} has settings of ${key}, which has no file`);
  }
  if (faults.length > 0) throw new InputError(faults.join('\n'));
  return { namespace: name, records: [...records.values()] };
}

interface Found {
  /** Below the directory. */
  readonly path: string;
  /** The folder; null: a file of the directory itself. */
  readonly group: string | null;
}

function filesOf(dir: string, faults: string[]): readonly Found[] {
  const found: Found[] = [];
  const walk = (group: string | null): void => {
    const folder = group === null ? dir : join(dir, group);
    for (const name of namesIn(folder)) {
      const path = group === null ? name : join(group, name);
      if (name.startsWith('.') || path === SETTINGS_FILE) continue;
      const kind = lstatSync(join(dir, path));
      if (kind.isDirectory() && group === null) walk(name);
      else if (kind.isFile()) found.push({ path, group });
      else faults.push(`${join(dir, path)} is ${kind.isSymbolicLink() ? 'a symbolic link' : 'no file'}`);
    }
  };
  walk(null);
  if (found.length > LIMITS.applyFiles)
    throw new InputError(`${dir} has more than ${LIMITS.applyFiles} files`);
  return found;
}

/** @throws InputError when the folder cannot be read */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    throw new InputError(`${folder} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
}

function keyOf(
  path: string,
  group: string | null,
  namespace: string,
  zoneLength: number,
): string | { readonly fault: string } {
  const file = path.split('/').at(-1)!;
  const bare = file.replace(/\.[^.]*$/, '');
  const [resource = '', version = 'v1'] = (group ?? bare).split('@');
  const key =
    group === null ? `${resource}.${namespace}.${version}` : `${bare}.${resource}.${namespace}.${version}`;
  const parsed = parseRecordKey(key, zoneLength);
  return typeof parsed === 'string' ? { fault: `its ${parsed.replace(/^key/, `key ${key}`)}` } : parsed.key;
}

/** @returns what is wrong with the file, behind its name */
function recordOf(
  dir: string,
  path: string,
  key: string,
  { types, ttlSeconds, settings }: Settings,
): WantedRecord | string {
  const own = settings[key] ?? {};
  const octets = readFileSync(join(dir, path));
  const data = own.encoding === 'base64' ? decodeBase64(octets.toString('latin1').trim()) : octets;
  if (data === null) return 'is not strict Base64';
  if (data.length > LIMITS.recordData)
    return `has ${data.length} bytes, and a record at most ${LIMITS.recordData}`;
  if (own.plain === true && !isPlainText(data)) return 'has octets that plain text cannot have';
  const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return {
    key,
    data: Buffer.from(data),
    plain: own.plain ?? null,
    contentType: typeIn(types, ending) ?? typeIn(TYPES, ending) ?? DEFAULT_TYPE,
    ttlSeconds: own.ttl_seconds ?? ttlSeconds,
    expiresIn: own.expires_in ?? null,
  };
}

/** Own entries alone: `constructor` may be the ending of a file. */
function typeIn(types: Settings['types'], ending: string): string | undefined {
  return Object.hasOwn(types, ending) ? types[ending] : undefined;
}

function readSettings(dir: string, faults: string[]): Settings {
  const path = join(dir, SETTINGS_FILE);
  const value = settingsObject(path, faults);
  const known = ['namespace', 'ttl_seconds', 'types', 'settings'];
  for (const name of Object.keys(value))
    if (!known.includes(name)) faults.push(`${path}: ${name} is not a known field`);
  const { namespace, ttl_seconds: ttl = LIMITS.ttlSecondsDefault, types = {}, settings = {} } = value;
  if (namespace !== undefined && typeof namespace !== 'string')
    faults.push(`${path}: namespace must be a string`);
  if (!isCount(ttl)) faults.push(`${path}: ttl_seconds must be a whole number`);
  return {
    namespace: typeof namespace === 'string' ? namespace : null,
    ttlSeconds: Number(ttl),
    types: typesOf(types, path, faults),
    settings: settingsOf(settings, path, faults),
  };
}

function settingsObject(path: string, faults: string[]): JsonObject {
  let text: string;
  try {
    if (lstatSync(path).isSymbolicLink()) {
      faults.push(`${path} is a symbolic link`);
      return {};
    }
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // Settings that are there and cannot be read must not become the defaults: every TTL would be written anew.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') faults.push(`${path} cannot be read: ${code ?? 'unknown'}`);
    return {};
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Said below.
  }
  faults.push(`${path} is not a JSON object`);
  return {};
}

function typesOf(types: unknown, path: string, faults: string[]): Settings['types'] {
  const entries = isJsonObject(types) ? Object.entries(types) : null;
  if (entries === null || entries.some(([, type]) => typeof type !== 'string')) {
    faults.push(`${path}: types must map file endings to media types`);
    return {};
  }
  return Object.fromEntries(
    entries.map(([ending, type]) => [ending.replace(/^\./, '').toLowerCase(), String(type)]),
  );
}

function settingsOf(settings: unknown, path: string, faults: string[]): Settings['settings'] {
  if (!isJsonObject(settings)) {
    faults.push(`${path}: settings must map keys to objects`);
    return {};
  }
  for (const [key, own] of Object.entries(settings)) {
    const members = isJsonObject(own) ? own : { own };
    const { ttl_seconds: ttl, expires_in: expires, encoding, plain, ...rest } = members;
    const isGood =
      Object.keys(rest).length === 0 &&
      (ttl === undefined || isCount(ttl)) &&
      (expires === undefined || isCount(expires)) &&
      (encoding === undefined || encoding === 'base64' || (isEncoding(encoding) && plain === undefined)) &&
      (plain === undefined || typeof plain === 'boolean');
    if (!isGood)
      faults.push(
        `${path}: settings of ${key} may have ttl_seconds, expires_in, plain true or false, and encoding "base64", "plain" or "b64"`,
      );
  }
  return Object.fromEntries(
    Object.entries(settings).map(([key, own]) => [
      key.toLowerCase(),
      isJsonObject(own) ? keySettings(own) : {},
    ]),
  );
}

/** The API's names of encodings. They say the same as `plain`. */
const isEncoding = (encoding: unknown): boolean => encoding === 'plain' || encoding === 'b64';

function keySettings({ encoding, ...own }: JsonObject): KeySettings {
  return (
    isEncoding(encoding) ? { ...own, plain: encoding === 'plain' } : { ...own, encoding }
  ) as KeySettings;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
