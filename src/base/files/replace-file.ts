import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
