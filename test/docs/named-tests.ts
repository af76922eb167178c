/** Tests that a document names: `path/to/file.test.ts` "title", "another title". */

export interface NamedTest {
  readonly path: string;
  readonly title: string;
}

const PATH = /`((?:src|test|sdk)\/[\w./-]+\.ts)`/;
const TITLE = /"([^"]+)"/;
/** Placeholder in a title for text that the test fills in. */
const GAP = '...';
/** The same in a template literal of the source. */
const PLACEHOLDER = '\\$\\{[^\\n]*?\\}';

/** Paths in a text, without duplicates. */
export function namedPaths(text: string): readonly string[] {
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
