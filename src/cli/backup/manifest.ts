import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';

export const MANIFEST_FILE = 'manifest.json';
const FORMAT = 1;

/** One file of a backup. */
export interface BackupFile {
  /** Path below the data directory, with `/` between its parts. */
  readonly path: string;
  readonly octets: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** What a backup holds. Written last: a folder without it is no backup. */
export interface Manifest {
  readonly format: number;
  /** ISO 8601. */
  readonly made_at: string;
  /** Version of uqrp that made it. */
  readonly version: string;
  /** `sqlite`: the database is in the backup; `postgres`: it is not. */
  readonly engine: 'sqlite' | 'postgres';
  /** Migrations of the database; empty with PostgreSQL. */
  readonly migrations: readonly string[];
  readonly files: readonly BackupFile[];
}

/** Everything of a data directory that a backup takes. What is not here is made again. */
const PATHS = [
  /^uqrp\.sqlite$/,
  /^secret$/,
  /^geoip\.mmdb$/,
  /^stock-map\.json$/,
  /^keys\/[a-z0-9.-]{1,253}\.json$/,
  /^tls\/(?:cert|key)\.pem$/,
];

export function isBackupPath(path: string): boolean {
  return PATHS.some((pattern) => pattern.test(path)) && !path.includes('..');
}

export function newManifest(facts: Omit<Manifest, 'format'>): Manifest {
  return { format: FORMAT, ...facts };
}

/** Octets read at once: a database may be larger than memory, and than what `readFileSync` takes (2 GiB). */
const CHUNK_OCTETS = 1_048_576;

/**
 * Describes a file as it stands on disk, read in chunks.
 *
 * @param path its path in the manifest
 * @param file where it stands
 * @throws the system's error when it cannot be read
 */
export function describeFile(path: string, file: string, chunkOctets = CHUNK_OCTETS): BackupFile {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(chunkOctets);
  const handle = openSync(file, 'r');
  let octets = 0;
  try {
    for (let read = readSync(handle, chunk); read > 0; read = readSync(handle, chunk)) {
      hash.update(chunk.subarray(0, read));
      octets += read;
    }
  } finally {
    closeSync(handle);
  }
  return { path, octets, sha256: hash.digest('hex') };
}

/** @returns the manifest, or one message that says what is wrong with it */
export function parseManifest(text: string): Manifest | string {
  let value: Partial<Manifest> | null;
  try {
    value = JSON.parse(text) as Partial<Manifest> | null;
  } catch {
    return 'it is not JSON';
  }
  if (value?.format !== FORMAT) return `its format is not ${FORMAT}: another version of uqrp made it`;
  const { files, engine, migrations } = value;
  if (!Array.isArray(files) || !Array.isArray(migrations) || (engine !== 'sqlite' && engine !== 'postgres')) {
    return 'it lacks a field';
  }
  const strange = files.find((file) => typeof file?.path !== 'string' || !isBackupPath(file.path));
  return strange === undefined ? (value as Manifest) : 'it names a file that no backup holds';
}
