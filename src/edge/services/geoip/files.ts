import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { every } from '../../../lifecycle/every.ts';
import { type AddressDatabase, openDatabase } from './database.ts';

export interface AddressSource {
  /** Null without a database. */
  current(): AddressDatabase | null;
}

export interface WatchedSource extends AddressSource {
  /** Checks the files now, not after up to a second. */
  check(): Promise<void>;
  close(): void;
}

export interface WatchOptions {
  /** In order of preference; the first that exists and opens is used. */
  readonly paths: readonly string[];
  /** Called when another file, or none, is in use. */
  readonly onSwap: () => void;
  /** Called when a file exists but does not open. The previous one stays in use. */
  readonly onFault: (fault: unknown) => void;
}

/** File in the data directory that `geoip update` writes. */
export const GEOIP_FILE = 'geoip.mmdb';
const IN_THE_BOX = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb';
const PERIOD_MS = 1000;

/**
 * Paths to try: only `named` if it is set; else the file of `geoip update`, then the one that ships with the package.
 */
export function geoipPaths(dataDir: string, named: string | null): readonly string[] {
  if (named !== null) return [named];
  const inTheBox = packagedPath();
  const updated = join(dataDir, GEOIP_FILE);
  return inTheBox === null ? [updated] : [updated, inTheBox];
}

export function isDatabase(path: string): boolean {
  try {
    openDatabase(readFileSync(path));
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

/** Opens the database and checks every second whether the file was replaced. */
export function watchDatabase(options: WatchOptions): WatchedSource {
  let seen = stateOf(options.paths);
  let database = openFirst(options);
  let checking: Promise<void> | null = null;

  async function swap(): Promise<void> {
    const state = stateOf(options.paths);
    if (state === seen) return;
    const next = await readFirst(options);
    seen = state;
    // The new file is unreadable: keep the old one.
    if (next === 'faulty') return;
    if (next === null && database === null) return;
    database = next;
    options.onSwap();
  }

  const check = (): Promise<void> =>
    (checking ??= swap().finally(() => {
      checking = null;
    }));
  const watching = every({ ms: PERIOD_MS, task: check, onError: options.onFault });
  return { current: () => database, check, close: () => void watching.stop() };
}

/** Changes when one of the files changes. */
function stateOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat === undefined ? '-' : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs}`;
    })
    .join(',');
}

function openFirst({ paths, onFault }: WatchOptions): AddressDatabase | null {
  for (const path of paths) {
    try {
      return openDatabase(readFileSync(path));
    } catch (fault) {
      if (!isMissing(fault)) onFault(fault);
    }
  }
  return null;
}

async function readFirst({ paths, onFault }: WatchOptions): Promise<AddressDatabase | 'faulty' | null> {
  for (const path of paths) {
    try {
      return openDatabase(await readFile(path));
    } catch (fault) {
      if (isMissing(fault)) continue;
      onFault(fault);
      return 'faulty';
    }
  }
  return null;
}

function isMissing(fault: unknown): boolean {
  return (fault as NodeJS.ErrnoException).code === 'ENOENT';
}
