import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { every } from '../../../lifecycle/every.ts';
import { type AddressDatabase, openDatabase } from './database.ts';

/** The database in use, whichever that is at the moment. */
export interface AddressSource {
  /** Null while there is none. */
  current(): AddressDatabase | null;
}

export interface WatchedSource extends AddressSource {
  /** Looks for another file now, instead of within a second. */
  check(): Promise<void>;
  close(): void;
}

export interface WatchOptions {
  /** In order of preference; the first that exists and opens is used. */
  readonly paths: readonly string[];
  /** Another file is in use, or none any more. */
  readonly onSwap: () => void;
  /** A file is there and does not open: the one in use stays. */
  readonly onFault: (fault: unknown) => void;
}

/** Name of the file in the data directory that `geoip update` writes. */
export const GEOIP_FILE = 'geoip.mmdb';
const IN_THE_BOX = '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb';
const PERIOD_MS = 1000;

/**
 * Where to look for a database: the operator's own file alone, where one is named; else the one that `geoip update` put in the
 * data directory, and then the one that ships with the package.
 */
export function geoipPaths(dataDir: string, named: string | null): readonly string[] {
  if (named !== null) return [named];
  const inTheBox = pathInTheBox();
  const updated = join(dataDir, GEOIP_FILE);
  return inTheBox === null ? [updated] : [updated, inTheBox];
}

/** Whether a file is there and opens as a database. */
export function isDatabase(path: string): boolean {
  try {
    openDatabase(readFileSync(path));
    return true;
  } catch {
    return false;
  }
}

/** The package is optional: null where it is not installed. */
function pathInTheBox(): string | null {
  try {
    return createRequire(import.meta.url).resolve(IN_THE_BOX);
  } catch {
    return null;
  }
}

/** Opens the database and looks every second whether another file has taken its place. */
export function watchDatabase(options: WatchOptions): WatchedSource {
  let seen = stateOf(options.paths);
  let database = openFirst(options);
  let checking: Promise<void> | null = null;

  async function swap(): Promise<void> {
    const state = stateOf(options.paths);
    if (state === seen) return;
    const next = await readFirst(options);
    seen = state;
    // What is there cannot be read: better the old one than none.
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

/** Changes whenever one of the files does. */
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
