/**
 * How `npm test` divides the test files. Each share is one process, so that its files are loaded once and share one PostgreSQL.
 * A file belongs to the first row that its path begins with. Shares that take long come first, so that the last ones to run are short.
 */
const FOLDERS: readonly string[] = [
  'test/e2e/',
  'src/http/',
  'src/store/',
  'src/cli/',
  'src/dns/',
  'src/control/',
  'test/',
  'sdk/',
  'dashboard/',
  'src/',
];

/** Longer folders are cut, so that a share is no large part of the whole run. */
const FILES_MAX = 24;

export interface Share {
  /** The row of the table; with a number when the folder has several shares. */
  readonly name: string;
  /** Sorted paths from the project's root. */
  readonly files: readonly string[];
}

/** @throws Error when a file belongs to no row */
export function sharesOf(files: readonly string[], max = FILES_MAX): readonly Share[] {
  const groups = new Map<string, string[]>(FOLDERS.map((folder) => [folder, []]));
  for (const file of files.toSorted()) {
    const folder = FOLDERS.find((start) => file.startsWith(start));
    if (folder === undefined) throw new Error(`${file} is in no folder of scripts/test-shares.ts`);
    groups.get(folder)!.push(file);
  }
  return [...groups].flatMap(([folder, members]) => cut(folder.replace(/\/$/, ''), members, max));
}

/** Equal parts of at most `max` files. The files are dealt in turn, because neighbours are often slow together. */
function cut(name: string, files: readonly string[], max: number): readonly Share[] {
  if (files.length === 0) return [];
  const parts = Math.ceil(files.length / max);
  if (parts === 1) return [{ name, files }];
  return Array.from({ length: parts }, (_, part) => ({
    name: `${name} ${part + 1}/${parts}`,
    files: files.filter((_file, i) => i % parts === part),
  }));
}
