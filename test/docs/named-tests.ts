import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

/** Tests that a document names: `path/to/file.test.ts` "title", "another title". */

export interface NamedTest {
  readonly path: string;
  readonly title: string;
}

const PATH = /`((?:src|test|sdk|dashboard)\/[\w./-]+\.ts)`/;
const TITLE = /"([^"]+)"/;
/** Placeholder in a title for text that the test fills in. */
const GAP = '...';
/** The same in a template literal of the source. */
const PLACEHOLDER = '\\$\\{[^\\n]*?\\}';

/** Paths in a text, without duplicates. */
function namedPaths(text: string): readonly string[] {
  return [...new Set([...text.matchAll(new RegExp(PATH, 'g'))].map(([, path]) => path!))];
}

/** Titles belong to the path before them. @throws Error when there is none before a title */
export function namedTests(text: string): readonly NamedTest[] {
  const found: NamedTest[] = [];
  let path: string | null = null;
  for (const [, nextPath, title] of text.matchAll(new RegExp(`${PATH.source}|${TITLE.source}`, 'g'))) {
    if (nextPath !== undefined) path = nextPath;
    else if (path === null) throw new Error(`no file before "${title}"`);
    else found.push({ path, title: title! });
  }
  return found;
}

/** Whether a source file holds the title, as the whole text of a string or a template. */
export function holdsTitle(source: string, title: string): boolean {
  const parts = title.split(GAP).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`(['"\`])${parts.join(PLACEHOLDER)}\\1`).test(source.replaceAll("\\'", "'"));
}

const ROOT = new URL('../../', import.meta.url);

/** A file of the project. @param path from its root */
export function textOf(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** Every file that the rows name exists, and every test is in it. */
export function assertNamedTestsExist(rows: readonly string[]): void {
  const missingFiles = namedPaths(rows.join('\n')).filter((path) => !existsSync(new URL(path, ROOT)));
  assert.deepEqual(missingFiles, []);
  const missing = rows.flatMap(namedTests).filter(({ path, title }) => !holdsTitle(textOf(path), title));
  assert.deepEqual(missing, []);
}

/** The cells of a row of a table: as many as it has columns, none of them empty. */
export function filledCells(row: string, columns: number): readonly string[] {
  const cells = row
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
  assert.equal(cells.length, columns, row);
  assert.ok(
    cells.every((cell) => cell !== ''),
    row,
  );
  return cells;
}
