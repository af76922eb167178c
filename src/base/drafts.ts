import { join } from 'node:path';
import { type Files, systemFiles } from './files.ts';

/** Names of `Files.draftOf`, and of the journal that SQLite keeps beside a draft. */
const DRAFT = /.\.draft-[0-9a-f]{12}(?:-journal)?$/;
/** Milliseconds. A younger one may be that of a command, which takes no lock. */
const AGE_MS = 60_000;

/**
 * Removes what a process that was killed has not renamed or linked: secrets and keys may be among it, and nothing else would ever remove it. It looks
 * into the folder and those in it. The caller has the lock of the folder, where there is one.
 * @param now milliseconds since the epoch
 */
export function removeDrafts(folder: string, now: number, files: Files = systemFiles): void {
  for (const inner of removeIn(folder, now, files)) removeIn(inner, now, files);
}

/** @returns the folders in it */
function removeIn(folder: string, now: number, files: Files): string[] {
  const folders: string[] = [];
  try {
    for (const name of files.list(folder)) {
      const path = join(folder, name);
      const found = files.facts(path, 'link');
      if (found?.kind !== 'file' && found?.kind !== 'folder') continue;
      if (!DRAFT.test(name)) {
        if (found.kind === 'folder') folders.push(path);
      } else if (now - found.changedMs > AGE_MS) files.remove(path);
    }
  } catch {
    // A folder of another user, or a disk that refuses: that keeps nobody from starting, and the next start tries again.
  }
  return folders;
}
