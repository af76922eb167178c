/** The guides of CONTRIBUTING.md: sections with fenced blocks that write files, edit files and run commands. */

export const GUIDES = ['## Add a public service', '## Add a REST endpoint'];

export interface Block {
  /** `ts` is a new file, `diff` an edit, `sh` commands. */
  readonly kind: string;
  /** Path from the project's root; empty for commands. */
  readonly file: string;
  readonly text: string;
}

/** Fenced blocks of a section, in order. Blocks in a list are indented by three spaces. */
function blocksOf(section: string): readonly Block[] {
  const found = section.matchAll(/^ {3}```(\w+)(?: (\S+))?\n([\s\S]*?)^ {3}```$/gm);
  return [...found].map(([, kind, file, text]) => ({
    kind: kind!,
    file: file ?? '',
    text: text!.replace(/^ {3}/gm, ''),
  }));
}

/** @throws Error when the page lacks the guide, or the guide has fewer than four blocks */
export function guideOf(page: string, heading: string): readonly Block[] {
  const start = page.indexOf(heading);
  if (start < 0) throw new Error(`CONTRIBUTING.md has no section ${heading}`);
  const end = page.indexOf('\n## ', start + heading.length);
  const blocks = blocksOf(page.slice(start, end < 0 ? undefined : end));
  if (blocks.length < 4) throw new Error(`only ${blocks.length} blocks in ${heading}`);
  return blocks;
}

/**
 * Applies a `diff` block. A `+` line replaces the `-` line before it. Without one, it is inserted after the context line
 * before it. @throws Error when the file lacks a `-` line or a context line, or already has what an import adds
 */
export function edited(source: string, { text: diff, file }: Block): string {
  let lines = source.split('\n');
  let at = -1;
  let replaces = false;
  for (const line of diff.split('\n').filter((each) => each !== '')) {
    const text = line.slice(1);
    if (line.startsWith('+')) {
      const [taken] = importedNames(text).filter((name) => importedNames(source).includes(name));
      if (taken !== undefined) throw new Error(`CONTRIBUTING.md imports ${taken} into ${file}, which has it`);
      if (replaces) lines[at] = text;
      else lines = lines.toSpliced(++at, 0, text);
      replaces = false;
      continue;
    }
    at = lines.indexOf(text);
    if (at < 0) throw new Error(`CONTRIBUTING.md edits ${file} at a line that it lacks: ${text}`);
    replaces = line.startsWith('-');
  }
  return lines.join('\n');
}

/** Names of the `import { a, type b as c } from` statements: `a`, `c`. */
function importedNames(source: string): readonly string[] {
  return [...source.matchAll(/^import (?:type )?\{([^}]*)\}/gm)]
    .flatMap(([, list]) => list!.split(','))
    .map((part) => part.trim().split(/\s+/).at(-1)!)
    .filter((name) => name !== '');
}
