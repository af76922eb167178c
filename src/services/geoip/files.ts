import { readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { every } from '../../base/lifecycle/every.ts';
import { type AddressDatabase, openDatabase } from './database.ts';

export interface AddressSource {
  /** Null without a database. */
  current(): AddressDatabase | null;
}

/** A database file in memory that all threads share, and checked; null without one. */
export type LoadedDatabase = SharedArrayBuffer | null;

export interface LoadOptions {
  /** In order of preference; the first that exists and opens is used. */
  readonly paths: readonly string[];
  /** Called when a file exists but does not open, and when `onSwap` fails. */
  readonly onFault: (fault: unknown) => void;
}

export interface WatchedDatabase {
  readonly first: LoadedDatabase;
  /**
   * Checks every second whether the file was replaced. `onSwap` gets another file, or null when there is none any more; when it fails, the next check calls
   * it again. A file that does not open changes nothing.
   */
  watch(onSwap: (loaded: LoadedDatabase) => void | Promise<void>): DatabaseWatch;
}

export interface DatabaseWatch {
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
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat === undefined ? '-' : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs}`;
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
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const loaded = new SharedArrayBuffer(size);
    const octets = new Uint8Array(loaded);
    for (let at = 0; at < size; ) {
      const { bytesRead } = await file.read(octets, at, size - at, at);
      if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`);
      at += bytesRead;
    }
    return loaded;
  } finally {
    await file.close();
  }
}

function isMissing(fault: unknown): boolean {
  return (fault as NodeJS.ErrnoException).code === 'ENOENT';
}
