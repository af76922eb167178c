import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { open } from 'lmdb';
import { CURSOR_KEY, decodeCursor, FIRST } from '../../../src/view/lmdb/tree.ts';
import { generationPath, readState } from '../../../src/view/lmdb/view-directory.ts';

export interface ViewContents {
  readonly cursor: number | null;
  /** Entries that answers can come from. */
  readonly entries: number;
  /** SHA-256 over all of them in order, hexadecimal. */
  readonly digest: string;
}

/**
 * Own fields of the file, what was withdrawn, records that expired a short time ago (a view that was
 * built since does not know them), and fillings of freed pages.
 */
const OWN: ReadonlySet<number> = new Set([
  FIRST.meta,
  FIRST.datasetWithdrawn,
  FIRST.datasetRetired,
  FIRST.expired,
  FIRST.expiredIn,
  FIRST.filling,
]);

/** What the view of a data directory holds. It may be in use by another process, which must be at rest. */
export async function viewContents(dataDir: string): Promise<ViewContents> {
  const directory = join(dataDir, 'view');
  const state = readState(directory);
  if (state === null) throw new Error(`there is no view in ${dataDir}`);
  const tree = open<Buffer, Buffer>({
    path: generationPath(directory, state.generation),
    noSubdir: true,
    keyEncoding: 'binary',
    encoding: 'binary',
    readOnly: true,
    maxReaders: 512,
  });
  const hash = createHash('sha256');
  let entries = 0;
  let cursor: number | null = null;
  for (const { key, value } of tree.getRange({})) {
    if (key.equals(CURSOR_KEY)) cursor = decodeCursor(value);
    if (OWN.has(key[0] ?? 0)) continue;
    entries++;
    hash.update(`${key.length} ${value.length} `).update(key).update(value);
  }
  await tree.close();
  return { cursor, entries, digest: hash.digest('hex') };
}
