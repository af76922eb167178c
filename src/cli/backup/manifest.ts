import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';

export const MANIFEST_FILE = 'manifest.json';
const FORMAT = 1;

export interface BackupFile {
  /** Path below the data directory, with `/` as separator. */
  readonly path: string;
  readonly octets: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Contents of a backup. Written last: a folder without it is not a backup. */
export interface Manifest {
  readonly format: number;
  /** ISO 8601. */
  readonly made_at: string;
  readonly version: string;
  /** `sqlite`: the backup includes the database; `postgres`: it does not. */
  readonly engine: 'sqlite' | 'postgres';
  /** Migrations of the database; empty with PostgreSQL. */
  readonly migrations: readonly string[];
  readonly files: readonly BackupFile[];
}

/** Everything that a backup includes. Other files can be made again. */
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

/** Octets per read: a database may exceed memory and the limit of `readFileSync` (2 GiB). */
const CHUNK_OCTETS = 1_048_576;

/** Describes a file, read in chunks. `path`: in the manifest; `file`: on disk. Throws the system's error. */
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

/** Returns the manifest, or a message that says what is wrong. */
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
