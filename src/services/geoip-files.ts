import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Reader, type Response } from 'mmdb-lib';
import { isMissing, makeFolderSync, replaceFileSync, systemFiles } from '../base/files.ts';
import { every } from '../base/lifecycle/loop.ts';
import { isJsonObject, type JsonObject } from '../protocol/input/fields.ts';

export interface AddressFacts {
  /** ISO 3166-1 alpha-2, upper case. */
  readonly cc?: string;
  readonly region?: string;
  readonly city?: string;
  readonly lat?: number;
  readonly lon?: number;
  readonly tz?: string;
  /** Number of the autonomous system. */
  readonly asn?: number;
  readonly org?: string;
}

export interface AddressDatabase {
  /** `address` is a literal. Returns null when the database has no entry. */
  get(address: string): AddressFacts | null;
  /** Type and build time, from the metadata of the file. */
  readonly type: string;
  readonly builtAt: number;
}

/** Looked up to check that a file is intact. */
const PROBES = ['8.8.8.8', '193.0.6.139', '2001:4860:4860::8888', '2001:67c:2e8:22::c100:68b'];
const COUNTRY = /^[A-Z]{2}$/;

/**
 * Opens a MaxMind DB with field names of MaxMind (nested) or ip-location-db (flat). Throws when the file is of another
 * kind, is damaged, or has no entry for any probe.
 */
export function openDatabase(bytes: Buffer): AddressDatabase {
  const reader = readerOf(bytes);
  const { ipVersion, nodeCount, databaseType, buildEpoch } = reader.metadata;
  const get = (address: string): AddressFacts | null => {
    // An IPv4 tree cannot look up an IPv6 address.
    if (ipVersion === 4 && address.includes(':')) return null;
    const found: unknown = reader.get(address);
    const facts = isJsonObject(found) ? factsOf(found) : {};
    return Object.keys(facts).length === 0 ? null : facts;
  };
  if (!(nodeCount > 0) || !PROBES.some((address) => get(address) !== null)) {
    throw new Error('the database knows nothing of addresses');
  }
  return { get, type: databaseType, builtAt: buildEpoch.getTime() };
}

function readerOf(bytes: Buffer): Reader<Response> {
  try {
    return new Reader<Response>(bytes);
  } catch {
    throw new Error('not a MaxMind DB file');
  }
}

/** The facts in a row, from either naming. Values of an unexpected type are omitted. */
export function factsOf(row: JsonObject): AddressFacts {
  const country = path(row, 'country');
  const location = path(row, 'location');
  const cc = text(row.country_code) ?? text(country.iso_code) ?? text(row.country);
  return defined({
    cc: cc !== undefined && COUNTRY.test(cc) ? cc : undefined,
    region: text(row.state1) ?? english(list(row.subdivisions)) ?? text(row.region),
    city: text(row.city) ?? english(row.city),
    lat: coordinate(row.latitude ?? location.latitude, 90),
    lon: coordinate(row.longitude ?? location.longitude, 180),
    tz: text(row.timezone) ?? text(location.time_zone),
    asn: number(row.autonomous_system_number) ?? asNumber(text(row.asn)),
    org: text(row.autonomous_system_organization) ?? text(row.as_name),
  });
}

function path(row: JsonObject, name: string): JsonObject {
  const value = row[name];
  return isJsonObject(value) ? value : {};
}

/** The first subdivision is the largest. */
function list(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

function english(value: unknown): string | undefined {
  return isJsonObject(value) ? text(path(value, 'names').en) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function number(value: unknown): number | undefined {
  const result = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof result === 'number' && Number.isFinite(result) ? result : undefined;
}

function coordinate(value: unknown, most: number): number | undefined {
  const degrees = number(value);
  // Some files store 32-bit floats: 37.7510986328125 means 37.7511.
  return degrees === undefined || Math.abs(degrees) > most ? undefined : Number(degrees.toFixed(4));
}

function asNumber(value: string | undefined): number | undefined {
  return value === undefined ? undefined : number(value.replace(/^AS/, ''));
}

function defined(facts: { readonly [K in keyof AddressFacts]: AddressFacts[K] | undefined }): AddressFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as AddressFacts;
}

export interface AddressSource {
  /** Null without a database. */
  current(): AddressDatabase | null;
}

/** A database file in memory that all threads share, and checked; null without one. */
export type LoadedDatabase = SharedArrayBuffer | null;

interface LoadOptions {
  /** In order of preference; the first that exists and opens is used. */
  readonly paths: readonly string[];
  /** Called when a file exists but does not open, and when `onSwap` fails. */
  readonly onFault: (fault: unknown) => void;
}

interface WatchedDatabase {
  readonly first: LoadedDatabase;
  /**
   * Checks every second whether the file was replaced. `onSwap` gets another file, or null when there is none any more; when it fails, the next check calls
   * it again. A file that does not open changes nothing.
   */
  watch(onSwap: (loaded: LoadedDatabase) => void | Promise<void>): DatabaseWatch;
}

interface DatabaseWatch {
  /** Checks the files now, not after up to a second. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** File in the data directory that `geoip update` writes. */
export const GEOIP_FILE = 'geoip.mmdb';
const IN_THE_BOX = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb';
const PERIOD_MS = 1000;

/** Paths to try: only `named` if it is set; else the file of `geoip update`, then the one that ships with the package. */
export function geoipPaths(dataDir: string, named: string | null): readonly string[] {
  if (named !== null) return [named];
  const inTheBox = packagedPath();
  const updated = join(dataDir, GEOIP_FILE);
  return inTheBox === null ? [updated] : [updated, inTheBox];
}

export function isDatabase(path: string): boolean {
  try {
    openDatabase(systemFiles.read(path));
    return true;
  } catch {
    return false;
  }
}

/** Null when the optional package is not installed. */
function packagedPath(): string | null {
  try {
    return createRequire(import.meta.url).resolve(IN_THE_BOX);
  } catch {
    return null;
  }
}

/** Reads the database once for all threads. */
export async function loadDatabase(options: LoadOptions): Promise<WatchedDatabase> {
  let seen = stateOf(options.paths);
  const first = (await read(options, 'next')) ?? null;
  let inUse = first;

  async function swap(onSwap: (loaded: LoadedDatabase) => void | Promise<void>): Promise<void> {
    const state = stateOf(options.paths);
    if (state === seen) return;
    const next = await read(options, 'stop');
    // The new file is unreadable: keep the old one.
    if (next !== undefined && next !== inUse) {
      await onSwap(next);
      inUse = next;
    }
    seen = state;
  }

  return {
    first,
    watch(onSwap) {
      let checking: Promise<void> | null = null;
      const check = (): Promise<void> =>
        (checking ??= swap(onSwap).finally(() => {
          checking = null;
        }));
      const watching = every({ ms: PERIOD_MS, task: check, onError: options.onFault });
      return { check, close: () => watching.stop() };
    },
  };
}

/** Opens what `loadDatabase` read, in any thread. */
export function openLoaded(loaded: LoadedDatabase): AddressDatabase | null {
  return loaded === null ? null : openDatabase(Buffer.from(loaded));
}

/** Changes when one of the files changes. */
function stateOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const found = systemFiles.facts(path);
      return found === null ? '-' : `${found.inode} ${found.octets} ${found.changedMs}`;
    })
    .join(',');
}

/** @returns null when no file exists; undefined when `onDamage` is `stop` and the first that exists does not open */
async function read(
  { paths, onFault }: LoadOptions,
  onDamage: 'next' | 'stop',
): Promise<LoadedDatabase | undefined> {
  for (const path of paths) {
    try {
      const loaded = await readShared(path);
      openLoaded(loaded);
      return loaded;
    } catch (fault) {
      if (isMissing(fault)) continue;
      onFault(fault);
      if (onDamage === 'stop') return undefined;
    }
  }
  return null;
}

async function readShared(path: string): Promise<SharedArrayBuffer> {
  const file = await systemFiles.async.open(path, 'r');
  try {
    const loaded = new SharedArrayBuffer(await file.size());
    if ((await file.read(new Uint8Array(loaded), 0)) < loaded.byteLength) {
      throw new Error(`${path} became shorter while it was read`);
    }
    return loaded;
  } finally {
    await file.close();
  }
}

/**
 * Checks a database and puts it atomically into the data directory. Running servers use it within seconds. Throws when
 * it cannot be read, opened or written; then nothing has changed.
 */
export function updateDatabase(file: string, dataDir: string): AddressDatabase {
  const bytes = systemFiles.read(file);
  const database = openDatabase(bytes);
  makeFolderSync(dataDir, 0o700);
  replaceFileSync(join(dataDir, GEOIP_FILE), bytes, 0o600);
  return database;
}
