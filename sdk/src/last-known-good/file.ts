/** Last known good files on a disk. Only Node has what this needs: `Reader` loads it when it is given a path. */
import { LastKnownGoodError } from '../dns/errors.ts';
import { randomUuid } from '../shared/runtime.ts';
import { isKnownGood, KNOWN_GOOD_MAX } from './format.ts';

interface FileHandle {
  stat(): Promise<{ readonly mode: number; readonly size: number; isFile(): boolean }>;
  readFile(): Promise<Uint8Array<ArrayBuffer>>;
  writeFile(octets: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

interface NodeFiles {
  open(path: string, flags: string | number, mode?: number): Promise<FileHandle>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: true }): Promise<void>;
  readdir(path: string): Promise<string[]>;
  stat(path: string): Promise<{ readonly mtimeMs: number }>;
  readonly constants: { readonly O_RDONLY: number; readonly O_NONBLOCK?: number };
}

interface NodePaths {
  basename(path: string): string;
  dirname(path: string): string;
  join(...parts: string[]): string;
}

/** Not imports: bundlers for browsers fail on those. */
function node(): { readonly files: NodeFiles; readonly paths: NodePaths; readonly hasModes: boolean } {
  const { process } = globalThis as {
    process?: { platform?: string; getBuiltinModule?(name: string): unknown };
  };
  const files = process?.getBuiltinModule?.('node:fs/promises') as NodeFiles | undefined;
  const paths = process?.getBuiltinModule?.('node:path') as NodePaths | undefined;
  if (files === undefined || paths === undefined)
    throw new TypeError('`lastKnownGood` needs the files of Node');
  return { files, paths, hasModes: process?.platform !== 'win32' };
}

/** Drafts that were left by a crash have this age at least. */
const LEFT_MS = 60_000;

/**
 * The octets of a file; null when there is none, or it is empty.
 * @throws LastKnownGoodError for a file that others may read, or that is no such file: it is neither used nor replaced
 */
export async function readKnownGood(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const { files, hasModes } = node();
  const { O_RDONLY, O_NONBLOCK = 0 } = files.constants;
  let file: FileHandle;
  try {
    // A pipe must not hold us up.
    file = await files.open(path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return null;
    throw new LastKnownGoodError(`${path} cannot be read (${code})`);
  }
  try {
    const stat = await file.stat();
    const { mode, size } = stat;
    if (!stat.isFile()) throw new LastKnownGoodError(`${path} is no file`);
    if (hasModes && (mode & 0o077) !== 0)
      throw new LastKnownGoodError(`${path} is open to other users: chmod 600 ${path}`);
    if (size === 0) return null;
    const octets = size > KNOWN_GOOD_MAX ? new Uint8Array(0) : await file.readFile();
    if (!isKnownGood(octets))
      throw new LastKnownGoodError(`${path} is no last known good file: remove it, or give another path`);
    return octets;
  } finally {
    await file.close();
  }
}

/** Replaces the file: after a crash it is the old one or the new one, whole. @throws errors of the system */
export async function writeKnownGood(path: string, octets: Uint8Array): Promise<void> {
  const { files, paths, hasModes } = node();
  // Another name at every call: two processes may write at once.
  const draft = `${path}.${randomUuid()}`;
  try {
    await synced(files, draft, 'wx', (file) => file.writeFile(octets));
    await files.rename(draft, path);
  } catch (error) {
    await files.rm(draft, { force: true });
    throw error;
  }
  // The folder, so that the new name is on disk.
  if (hasModes) await synced(files, paths.dirname(path), 'r', async () => undefined);
}

async function synced(
  files: NodeFiles,
  path: string,
  flags: string,
  fill: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await files.open(path, flags, 0o600);
  try {
    await fill(file);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Removes what writers left that were killed. @throws LastKnownGoodError when the folder cannot be read */
export async function removeDrafts(path: string, now: number): Promise<void> {
  const { files, paths } = node();
  const folder = paths.dirname(path);
  const start = `${paths.basename(path)}.`;
  const names = await files.readdir(folder).catch((error: unknown) => {
    throw new LastKnownGoodError(`the folder of ${path} cannot be read (${codeOf(error)})`);
  });
  for (const name of names) {
    if (!name.startsWith(start) || !DRAFT.test(name.slice(start.length))) continue;
    const draft = paths.join(folder, name);
    const age = await files.stat(draft).then(
      ({ mtimeMs }) => now - mtimeMs,
      () => 0,
    );
    // It may be another user's: then it stays.
    if (age > LEFT_MS) await files.rm(draft, { force: true }).catch(() => undefined);
  }
}

const DRAFT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Removes the file. No file is no error. */
export async function removeKnownGood(path: string): Promise<void> {
  await node().files.rm(path, { force: true });
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'an error of the system';
}
