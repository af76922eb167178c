import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';

/** Another name at every call, so that two processes do not share a draft. */
export function draftOf(path: string): string {
  return `${path}.${randomBytes(6).toString('hex')}`;
}

/** Replaces a file in one step, its content on disk. The folder exists. @throws system errors; nothing has changed then */
export function replaceFileSync(path: string, content: string, mode: number): void {
  const draft = draftOf(path);
  try {
    writeFileSync(draft, content, { flag: 'wx', mode, flush: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** As `replaceFileSync`, without blocking the event loop. */
export async function replaceFile(path: string, content: string, mode: number): Promise<void> {
  const draft = draftOf(path);
  try {
    const file = await open(draft, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Puts the names of a folder on disk. */
export function syncFolder(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** What this process may still write to the disk of a path, octets: root may use what is kept back for root. NaN where the path is gone. */
export function freeOctets(path: string): number {
  try {
    const { bavail, bfree, bsize } = statfsSync(path);
    return (process.geteuid?.() === 0 ? bfree : bavail) * bsize;
  } catch {
    return Number.NaN;
  }
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
