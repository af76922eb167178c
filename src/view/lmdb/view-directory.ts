/**
 * The directory of the view: `<generation>.mdb` with its lock file, and `state`, which names the generation that
 * serves. A rebuild writes the next generation, then replaces `state`: a crash leaves the old view or the new one.
 */
import { join } from 'node:path';
import { type Files, makeFolderSync, replaceFileSync, systemFiles } from '../../base/files.ts';

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
  if (what === 'empty') systemFiles.remove(directory);
  const isFile = systemFiles.facts(directory)?.kind === 'file';
  if (isFile) removeSingleFile(directory);
  makeFolderSync(directory, MODE_DIRECTORY);
  systemFiles.setMode(directory, MODE_DIRECTORY);
  const state = join(directory, STATE);
  if (systemFiles.facts(state) !== null) systemFiles.setMode(state, MODE_FILE);
  return isFile;
}

/** Octets of a lock file: more than LMDB needs for `MAX_READERS` of `tree.ts`. */
const LOCK_OCTETS = 36_864;

/**
 * Creates both files before LMDB does, which would let others read them. LMDB takes an empty file for a new one. The lock file gets its
 * octets here: LMDB writes it through memory, and on a full disk a page that has no place yet would end the process (SIGBUS).
 */
export function createPrivate(path: string): void {
  for (const name of [path, `${path}-lock`]) {
    const file = systemFiles.open(name, 'a', MODE_FILE);
    try {
      systemFiles.setMode(name, MODE_FILE);
      if (name !== path && file.size() === 0) file.write(Buffer.alloc(LOCK_OCTETS), 0);
    } finally {
      file.close();
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
export function readState(directory: string, files: Files = systemFiles): ViewState | null {
  const text = textOf(join(directory, STATE), files);
  if (text === null) return null;
  const [, generation, marker] = /^([1-9][0-9]{0,8}) (.+)$/.exec(text) ?? [];
  if (generation === undefined) return null;
  const boot = bootId(files);
  const isOpen = boot !== null && marker === `open ${boot}`;
  return { generation: Number(generation), isTrusted: isOpen || marker === 'clean', isOpen };
}

/**
 * Writes which generation serves, and whether it is open for writing. Commits do not wait for the disk, so a machine
 * that goes down may leave pages of several transactions. A file is trusted when it was closed in order, or the machine
 * has not restarted since it was opened. A killed process loses nothing: the kernel has the pages.
 */
export function writeState(
  directory: string,
  generation: number,
  use: 'open' | 'clean',
  files: Files = systemFiles,
): void {
  const boot = bootId(files);
  const marker = use === 'clean' ? 'clean' : boot === null ? 'open' : `open ${boot}`;
  replaceFileSync(join(directory, STATE), `${generation} ${marker}`, MODE_FILE, files);
}

/** Removes files of earlier generations and interrupted rebuilds. Threads that read a removed file keep it until they close it. */
export function removeOthers(directory: string, generation: number): void {
  const keep = `${generation}.mdb`;
  for (const name of systemFiles.list(directory)) {
    if (name !== keep && name !== `${keep}-lock` && name !== STATE) systemFiles.remove(join(directory, name));
  }
}

export function removeGeneration(directory: string, generation: number): void {
  const path = generationPath(directory, generation);
  for (const file of [path, `${path}-lock`]) systemFiles.remove(file);
}

/** Names in the directory of a view: its files, and what a process that was killed may have left beside them. */
const NAMES = /^(?:[1-9][0-9]{0,8}\.mdb(?:-lock)?|state(?:\.[0-9a-f]+)?|sorting)$/;

/**
 * Removes a view that nobody uses, and nothing else: the directory stays when something else is in it. Also one of an earlier release, which was
 * a single file.
 */
export function removeView(directory: string): void {
  const kind = systemFiles.facts(directory)?.kind;
  if (kind === 'file') removeSingleFile(directory);
  if (kind !== 'folder') return;
  const names = systemFiles.list(directory);
  const ours = names.filter((name) => NAMES.test(name));
  for (const name of ours) systemFiles.remove(join(directory, name));
  const isEmpty = ours.length === names.length;
  if (isEmpty && systemFiles.facts(directory, 'link')?.kind === 'folder') systemFiles.remove(directory);
}

function removeSingleFile(path: string): void {
  for (const file of [path, `${path}-lock`, `${path}-state`]) systemFiles.remove(file);
}

/** Detects that a path leads to another file; null when there is none. */
export function inodeOf(path: string): number | null {
  return systemFiles.facts(path)?.inode ?? null;
}

/** Changes with every start of the machine. Null where the system does not give it (all but Linux). */
function bootId(files: Files): string | null {
  return textOf('/proc/sys/kernel/random/boot_id', files)?.trim() ?? null;
}

/** Null also for what cannot be read: such a view is not trusted. */
function textOf(path: string, files: Files): string | null {
  try {
    return files.read(path).toString('latin1');
  } catch {
    return null;
  }
}
