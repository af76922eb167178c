/**
 * The directory of the view: `<generation>.mdb` with its lock file, and `state`, which names the generation that
 * serves. A rebuild writes the next generation, then replaces `state`: a crash leaves the old view or the new one.
 */
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

const STATE = 'state';
const MODE_FILE = 0o600;
const MODE_DIRECTORY = 0o700;

export function generationPath(directory: string, generation: number): string {
  return join(directory, `${generation}.mdb`);
}

/**
 * Makes the directory with mode 0700, whatever the umask. Removes a view of an earlier release, which was a single file.
 * @param what `empty` removes everything that is in it
 * @returns whether there was such a file
 */
export function prepareDirectory(directory: string, what: 'keep' | 'empty' = 'keep'): boolean {
  if (what === 'empty') rmSync(directory, { recursive: true, force: true });
  const isFile = statSync(directory, { throwIfNoEntry: false })?.isFile() ?? false;
  if (isFile) {
    for (const file of [directory, `${directory}-lock`, `${directory}-state`]) rmSync(file, { force: true });
  }
  mkdirSync(directory, { recursive: true, mode: MODE_DIRECTORY });
  chmodSync(directory, MODE_DIRECTORY);
  const state = join(directory, STATE);
  if (statSync(state, { throwIfNoEntry: false }) !== undefined) chmodSync(state, MODE_FILE);
  return isFile;
}

/** Octets of a lock file: more than LMDB needs for `MAX_READERS` of `tree.ts`. */
const LOCK_OCTETS = 36_864;

/**
 * Creates both files before LMDB does, which would let others read them. LMDB takes an empty file for a new one. The lock file gets its
 * octets here: LMDB writes it through memory, and on a full disk a page that has no place yet would end the process (SIGBUS).
 */
export function createPrivate(path: string): void {
  for (const file of [path, `${path}-lock`]) {
    const handle = openSync(file, 'a', MODE_FILE);
    try {
      fchmodSync(handle, MODE_FILE);
      if (file !== path && fstatSync(handle).size === 0) writeFileSync(handle, Buffer.alloc(LOCK_OCTETS));
    } finally {
      closeSync(handle);
    }
  }
}

export interface ViewState {
  readonly generation: number;
  /** Whether all pages on disk are of one moment. */
  readonly isTrusted: boolean;
  /** Whether the file may be written: a start of the machine that goes down meanwhile discards it. */
  readonly isOpen: boolean;
}

/** @returns null when there is no view */
export function readState(directory: string): ViewState | null {
  let text: string;
  try {
    text = readFileSync(join(directory, STATE), 'latin1');
  } catch {
    return null;
  }
  const [, generation, marker] = /^([1-9][0-9]{0,8}) (.+)$/.exec(text) ?? [];
  if (generation === undefined) return null;
  const boot = bootId();
  const isOpen = boot !== null && marker === `open ${boot}`;
  return { generation: Number(generation), isTrusted: isOpen || marker === 'clean', isOpen };
}

/**
 * Writes which generation serves, and whether it is open for writing. Commits do not wait for the disk, so a machine
 * that goes down may leave pages of several transactions. A file is trusted when it was closed in order, or the machine
 * has not restarted since it was opened. A killed process loses nothing: the kernel has the pages.
 */
export function writeState(directory: string, generation: number, use: 'open' | 'clean'): void {
  const boot = bootId();
  const marker = use === 'clean' ? 'clean' : boot === null ? 'open' : `open ${boot}`;
  const path = join(directory, STATE);
  const file = openSync(`${path}.new`, 'w', MODE_FILE);
  try {
    fchmodSync(file, MODE_FILE);
    writeSync(file, `${generation} ${marker}`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.new`, path);
  syncDirectory(directory);
}

/** Removes files of earlier generations and interrupted rebuilds. Threads that read a removed file keep it until they close it. */
export function removeOthers(directory: string, generation: number): void {
  const keep = `${generation}.mdb`;
  for (const name of readdirSync(directory)) {
    if (name !== keep && name !== `${keep}-lock` && name !== STATE) {
      rmSync(join(directory, name), { force: true, recursive: true });
    }
  }
}

export function removeGeneration(directory: string, generation: number): void {
  const path = generationPath(directory, generation);
  for (const file of [path, `${path}-lock`]) rmSync(file, { force: true });
}

/** Detects that a path leads to another file; null when there is none. */
export function inodeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? null;
}

/** A rename is on disk only once its directory is. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Changes with every start of the machine. Null where the system does not give it (all but Linux). */
function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return null;
  }
}
