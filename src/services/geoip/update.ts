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
 * Checks a database and puts it atomically into the data directory. Running servers use it within seconds. Throws when
 * it cannot be read, opened or written; then nothing has changed.
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
