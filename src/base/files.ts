import {
  chmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { realRandom } from './chance.ts';

/** An open file. Positions are octets from its beginning. */
export interface OpenFile {
  /** Writes all of it; with the flag `a` to the end, whatever the position. */
  write(octets: Uint8Array, at: number): void;
  /** @returns how many were read: fewer than asked for at the end of the file alone */
  read(into: Uint8Array, at: number): number;
  size(): number;
  /** Content and length are on disk. The name is not: see `syncFolder`. */
  sync(): void;
  close(): void;
}

/** As in Node: to read; to change; a new file, EEXIST for another; emptied or made; to append, made when it is missing. */
export type OpenFlags = 'r' | 'r+' | 'wx' | 'w+' | 'a';

export interface FileFacts {
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly octets: number;
  /** Octets that have a place on the disk: fewer than `octets` where the file has holes. */
  readonly held: number;
  /** Of the last change, milliseconds since the epoch, with fractions. */
  readonly changedMs: number;
  /** Another file at the same path has another one. */
  readonly inode: number;
  /** Rights alone. */
  readonly mode: number;
  readonly owner: number;
}

/** What is asked of a file system. All calls throw errors with the system's `code`. */
interface FileCalls {
  /** @param mode of a file that is made, 0600 when not given */
  open(path: string, flags: OpenFlags, mode?: number): OpenFile;
  read(path: string): Buffer;
  /** Names in a folder, in no order. */
  list(path: string): string[];
  /** Null: there is none. @param of `link` does not follow a link */
  facts(path: string, of?: 'target' | 'link'): FileFacts | null;
  /** One level. */
  makeFolder(path: string, mode: number): void;
  /** In one step, in place of a file of that name. */
  rename(from: string, to: string): void;
  /** A second name. EEXIST where the name is taken. */
  link(from: string, to: string): void;
  /** A file, or a folder with all that is in it. Nothing there is no error. */
  remove(path: string): void;
  setMode(path: string, mode: number): void;
  setTime(path: string, changedMs: number): void;
  /** The names of a folder are on disk: what was made, renamed or removed in it. */
  syncFolder(path: string): void;
  /** What this process may still write to the disk of a path, octets. NaN where the path is gone. */
  freeOctets(path: string): number;
}

type Async<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Result extends OpenFile ? AsyncFile : Result>
    : never;
};

export type AsyncFile = Async<OpenFile>;

/** The port of files: all that the product keeps on a disk goes through it. Calls of itself wait for the disk, and the thread with them. */
export interface Files extends FileCalls {
  /** The same for code that others wait for: a disk may take seconds. */
  readonly async: Async<Omit<FileCalls, 'list' | 'link' | 'makeFolder' | 'freeOctets'>>;
  /** A name beside a path, another one at every call, so that two processes do not share a draft. */
  draftOf(path: string): string;
}

/** The file system of this machine. */
export const systemFiles: Files = {
  open: (path, flags, mode = 0o600) => systemFile(openSync(path, flags, mode)),
  read(path) {
    try {
      return readFileSync(path);
    } catch (error) {
      throw named(error, path);
    }
  },
  list: (path) => readdirSync(path),
  facts(path, of = 'target') {
    const found = (of === 'link' ? lstatSync : statSync)(path, { throwIfNoEntry: false });
    return found === undefined ? null : factsOf(found);
  },
  makeFolder: (path, mode) => mkdirSync(path, { mode }),
  rename: renameSync,
  link: linkSync,
  remove: (path) => rmSync(path, { force: true, recursive: true }),
  setMode: chmodSync,
  setTime: (path, changedMs) => utimesSync(path, changedMs / 1000, changedMs / 1000),
  syncFolder(path) {
    const folder = openSync(path, 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  },
  // Root may use what is kept back for root.
  freeOctets(path) {
    try {
      const { bavail, bfree, bsize } = statfsSync(path);
      return (process.geteuid?.() === 0 ? bfree : bavail) * bsize;
    } catch {
      return Number.NaN;
    }
  },
  draftOf: (path) => `${path}.draft-${Buffer.from(realRandom(6)).toString('hex')}`,
  async: {
    open: async (path, flags, mode = 0o600) => asyncFile(await fs.open(path, flags, mode)),
    read: (path) =>
      fs.readFile(path).catch((error: unknown) => {
        throw named(error, path);
      }),
    async facts(path, of = 'target') {
      try {
        return factsOf(await (of === 'link' ? fs.lstat : fs.stat)(path));
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    rename: (from, to) => fs.rename(from, to),
    remove: (path) => fs.rm(path, { force: true, recursive: true }),
    setMode: (path, mode) => fs.chmod(path, mode),
    setTime: (path, changedMs) => fs.utimes(path, changedMs / 1000, changedMs / 1000),
    async syncFolder(path) {
      const folder = await fs.open(path, 'r');
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
    },
  },
};

/** The system does not say of which file that is open it could not read. */
function named(error: unknown, path: string): unknown {
  if (error instanceof Error && !('path' in error)) error.message += ` '${path}'`;
  return error;
}

function systemFile(file: number): OpenFile {
  return {
    write(octets, at) {
      for (let done = 0; done < octets.length; ) {
        done += writeSync(file, octets, done, octets.length - done, at + done);
      }
    },
    read(into, at) {
      for (let done = 0; ; ) {
        const count = readSync(file, into, done, into.length - done, at + done);
        done += count;
        if (count === 0 || done === into.length) return done;
      }
    },
    size: () => fstatSync(file).size,
    sync: () => fsyncSync(file),
    close: () => closeSync(file),
  };
}

function asyncFile(file: FileHandle): AsyncFile {
  return {
    async write(octets, at) {
      for (let done = 0; done < octets.length; ) {
        done += (await file.write(octets, done, octets.length - done, at + done)).bytesWritten;
      }
    },
    async read(into, at) {
      for (let done = 0; ; ) {
        const { bytesRead } = await file.read(into, done, into.length - done, at + done);
        done += bytesRead;
        if (bytesRead === 0 || done === into.length) return done;
      }
    },
    size: async () => (await file.stat()).size,
    sync: () => file.sync(),
    close: () => file.close(),
  };
}

function factsOf(found: Stats): FileFacts {
  const special = found.isSymbolicLink() ? 'link' : 'other';
  const kind = found.isFile() ? 'file' : found.isDirectory() ? 'folder' : special;
  const { size: octets, mtimeMs: changedMs, ino: inode, uid: owner } = found;
  return { kind, octets, held: 512 * found.blocks, changedMs, inode, mode: found.mode & 0o777, owner };
}

// What the product does with files. Each of these ends with its result on disk, content and name.

/**
 * Replaces a file in one step. Its folder exists.
 * @throws system errors; the file has its old content or the new one then
 */
export function replaceFileSync(
  path: string,
  content: string | Uint8Array,
  mode: number,
  files: Files = systemFiles,
): void {
  const draft = files.draftOf(path);
  try {
    writeNewSync(draft, content, mode, files);
    files.rename(draft, path);
  } catch (error) {
    files.remove(draft);
    throw error;
  }
  files.syncFolder(dirname(path));
}

/** As `replaceFileSync`, without blocking the event loop. */
export async function replaceFile(
  path: string,
  content: string,
  mode: number,
  port: Files = systemFiles,
): Promise<void> {
  const files = port.async;
  const draft = port.draftOf(path);
  try {
    const file = await files.open(draft, 'wx', mode);
    try {
      await file.write(Buffer.from(content), 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await files.rename(draft, path);
  } catch (error) {
    await files.remove(draft);
    throw error;
  }
  await files.syncFolder(dirname(path));
}

/** Puts a whole file, which another program may have written, in place of another one. @param changedMs becomes its time */
export async function installFile(
  from: string,
  to: string,
  changedMs: number,
  { async: files }: Files = systemFiles,
): Promise<void> {
  await files.setTime(from, changedMs);
  const file = await files.open(from, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(from, to);
  await files.syncFolder(dirname(to));
}

/**
 * Makes a file that no other process may make at the same time: the first one wins, and all get its content.
 * @returns the content
 */
export function createFileSync(
  path: string,
  content: string,
  mode: number,
  files: Files = systemFiles,
): string {
  const draft = files.draftOf(path);
  try {
    writeNewSync(draft, content, mode, files);
    files.link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    files.remove(draft);
  }
  files.syncFolder(dirname(path));
  return files.read(path).toString();
}

/** Makes a folder and those that it is in, where they are missing. */
export function makeFolderSync(path: string, mode: number, files: Files = systemFiles): void {
  // One level at a time: Node's recursive mkdir does not return under /proc.
  const missing: string[] = [];
  for (let at = path; files.facts(at) === null; at = dirname(at)) missing.push(at);
  for (const level of missing.toReversed()) {
    try {
      files.makeFolder(level, mode);
    } catch (error) {
      // Another process may have made it in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    files.syncFolder(dirname(level));
  }
}

/** As `makeFolderSync`; it blocks the event loop only where there is something to make. */
export async function makeFolder(path: string, mode: number, files: Files = systemFiles): Promise<void> {
  if ((await files.async.facts(path)) === null) makeFolderSync(path, mode, files);
}

/** Writes a new file, and waits until its content is on disk; the name may not be. EEXIST where there is one. */
function writeNewSync(path: string, content: string | Uint8Array, mode: number, files: Files): void {
  const file = files.open(path, 'wx', mode);
  try {
    file.write(typeof content === 'string' ? Buffer.from(content) : content, 0);
    file.sync();
  } finally {
    file.close();
  }
}

export const freeOctets = (path: string): number => systemFiles.freeOctets(path);

/** A file without a name, to read and to write: nothing of it outlives the process. Its path is taken while it is made. */
export function scratchFile(path: string): OpenFile {
  const file = systemFiles.open(path, 'w+');
  systemFiles.remove(path);
  return file;
}

const PART_OCTETS = 1_048_576;

/** A file from its beginning to its end, part by part. @throws system errors */
export async function* readParts(
  path: string,
  { async: files }: Files = systemFiles,
): AsyncGenerator<Uint8Array, void> {
  const file = await files.open(path, 'r');
  try {
    for (let at = 0; ; ) {
      const part = Buffer.allocUnsafe(PART_OCTETS);
      const count = await file.read(part, at);
      at += count;
      if (count > 0) yield part.subarray(0, count);
      if (count < PART_OCTETS) return;
    }
  } finally {
    await file.close();
  }
}

/** Null: there is none. */
export function readIfThere(path: string, files: Files = systemFiles): string | null {
  try {
    return files.read(path).toString();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | null)?.code === 'ENOENT';
}

/** A full disk, as the system reports it, with the path. */
export class DiskFullError extends Error {
  readonly code = 'ENOSPC';
  readonly path: string;
  constructor(path: string, options: { readonly cause?: unknown } = {}) {
    super(`ENOSPC: the disk of ${path} is full`, options);
    this.name = 'DiskFullError';
    this.path = path;
  }
}

/** Whether the system refused to write because of a full disk or a quota. */
export function isOutOfSpace(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}
