import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type AddressDatabase, openDatabase } from './database.ts';
import { GEOIP_FILE } from './files.ts';

/**
 * Puts a database into the data directory, once it has been seen to open. A reader finds the old file or the new one,
 * never a part. Running servers notice within seconds.
 *
 * @throws Error when the file cannot be read, is no database, or cannot be written; then nothing has changed
 */
export function updateDatabase(file: string, dataDir: string): AddressDatabase {
  const bytes = readFileSync(file);
  const database = openDatabase(bytes);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const temporary = join(dataDir, `${GEOIP_FILE}.${process.pid}.new`);
  try {
    writeWhole(temporary, bytes);
    renameSync(temporary, join(dataDir, GEOIP_FILE));
  } finally {
    rmSync(temporary, { force: true });
  }
  return database;
}

function writeWhole(path: string, bytes: Buffer): void {
  const file = openSync(path, 'w', 0o600);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
