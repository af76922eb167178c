import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** All files below a folder. Who runs there removes and renames some meanwhile: then all are read again. */
export function filesOf(dir: string): Buffer[] {
  try {
    return readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return filesOf(dir);
  }
}
