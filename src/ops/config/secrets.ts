import { hkdfSync, randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from './config.ts';
import { StartError } from './start-error.ts';

const FILE = 'secret';
const FINGERPRINT_OCTETS = 16;
const FORM = /^[0-9a-f]{64}\n?$/;

/** Keys are derived from this text of UQRP_SECRET or of the file. Either can be copied into the other. */
export type Secret = Uint8Array;

/**
 * Returns UQRP_SECRET, else the text of `<dataDir>/secret`. A missing file is made: 32 random octets in hexadecimal.
 * Processes that start together read the same file.
 * @param create false: a missing file is a fault, because a new secret would not be the server's
 * @throws ConfigError when the file has no valid secret
 */
export function loadSecret(dataDir: string, fromEnv: string | null, create = true): Secret {
  if (fromEnv !== null) return Buffer.from(fromEnv, 'utf8');
  const path = join(dataDir, FILE);
  const found = readIfThere(path);
  if (found === null && !create) {
    throw new StartError(
      `UQRP_SECRET is not set, and there is no ${path}. Put this file back, or set UQRP_SECRET to its text.`,
    );
  }
  const held = found ?? makeSecret(dataDir, path);
  if (!FORM.test(held)) throw new ConfigError(['the file secret in UQRP_DATA_DIR must hold 64 hex letters']);
  return Buffer.from(held.trimEnd(), 'utf8');
}

/** HKDF-SHA256 (RFC 5869): the key of one label reveals nothing about another. @param length octets, at most 8,160 */
export function deriveKey(secret: Secret, label: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `uqrp/${label}`, length));
}

/** Identifies a secret and does not reveal it. It is stored in the database. */
export function secretFingerprint(secret: Secret): string {
  return deriveKey(secret, 'fingerprint', FINGERPRINT_OCTETS).toString('hex');
}

/** Writes another file and links it, so that no process reads a part of a secret. The first process wins. */
function makeSecret(dataDir: string, path: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true });
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  syncDirectory(dataDir);
  return readFileSync(path, 'utf8');
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Makes the file name durable: data may be encrypted under the secret before the next sync. */
function syncDirectory(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
