/**
 * Prints the share of comments by folder, files over 250 lines, folders over twelve files, and words that
 * docs/GLOSSARY.md rules out. With `--check` it prints only the words, and exits 1 when there is one.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NOT_READ, WORD_RULES } from './word-rules.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Maximum lines of a file. Tables of data do not count. */
const FILE_LINES_MAX = 250;
/** Maximum TypeScript files of a folder, without tests. */
const FOLDER_FILES_MAX = 12;
/** Maximum share of comment lines in a folder's non-blank lines. */
const COMMENTS = { min: 0.05, max: 0.12 };

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter(
    (file) =>
      /\.(?:tsx?|md)$|^dashboard\/src\/text\/.*\.json$/.test(file) && !file.startsWith('test/fixtures/'),
  );

const texts = new Map<string, string>();
for (const file of tracked) {
  try {
    texts.set(file, readFileSync(ROOT + file, 'utf8'));
  } catch {
    // The file is deleted in the working tree, but still in the index.
  }
}
const sources = [...texts.keys()].filter((file) => /\.tsx?$/.test(file));
const isTest = (file: string): boolean => file.endsWith('.test.ts');

interface Count {
  comments: number;
  lines: number;
}

/** Counts comment lines and non-blank lines. A line with code and a comment is code. */
function count(text: string): Count {
  let comments = 0;
  let lines = 0;
  let inside = false;
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (line === '') continue;
    lines++;
    if (inside || line.startsWith('//') || line.startsWith('/*')) comments++;
    if (line.startsWith('/*')) inside = true;
    if (inside && line.includes('*/')) inside = false;
  }
  return { comments, lines };
}

function folders(files: readonly string[]): Map<string, string[]> {
  return Map.groupBy(files, (file) => dirname(file));
}

function commentShares(): string[] {
  const rows: string[] = [];
  for (const [folder, files] of folders(sources.filter((file) => file.startsWith('src/') && !isTest(file)))) {
    const sum = files
      .map((file) => count(texts.get(file) ?? ''))
      .reduce((a, b) => ({ comments: a.comments + b.comments, lines: a.lines + b.lines }));
    const share = sum.comments / sum.lines;
    const mark = share > COMMENTS.max ? ' above' : share < COMMENTS.min ? ' below' : '';
    rows.push(`${(share * 100).toFixed(1).padStart(5)} %  ${folder}${mark}`);
  }
  return rows.sort();
}

function longFiles(): string[] {
  return sources
    .map((file) => ({ file, lines: (texts.get(file) ?? '').split('\n').length - 1 }))
    .filter(({ lines }) => lines > FILE_LINES_MAX)
    .sort((a, b) => b.lines - a.lines)
    .map(({ file, lines }) => `${lines}  ${file}`);
}

function fullFolders(): string[] {
  return [...folders(sources.filter((file) => !isTest(file)))]
    .filter(([, files]) => files.length > FOLDER_FILES_MAX)
    .map(([folder, files]) => `${files.length}  ${folder}`);
}

/** Each line that holds a word outside its allowed paths, as `file:line: word (instead)`. */
function wordFaults(): string[] {
  const faults: string[] = [];
  for (const [file, text] of texts) {
    if (NOT_READ.test(file)) continue;
    const rules = WORD_RULES.filter(({ allowed }) => !allowed?.test(file));
    for (const [index, line] of text.split('\n').entries()) {
      for (const { word, instead } of rules) {
        const found = word.exec(line);
        if (found !== null) faults.push(`${file}:${index + 1}: ${found[0]} (write: ${instead})`);
      }
    }
  }
  return faults;
}

function print(title: string, rows: readonly string[]): void {
  process.stdout.write(`\n${title}: ${rows.length}\n${rows.map((row) => `  ${row}\n`).join('')}`);
}

const words = wordFaults();
if (process.argv.includes('--check')) {
  for (const fault of words) process.stderr.write(`${fault}\n`);
  process.stdout.write(`words: ${texts.size} files, ${words.length} faults\n`);
  process.exitCode = words.length === 0 ? 0 : 1;
} else {
  const all = sources
    .filter((file) => file.startsWith('src/') && !isTest(file))
    .map((file) => count(texts.get(file) ?? ''));
  const share =
    all.reduce((sum, { comments }) => sum + comments, 0) / all.reduce((sum, { lines }) => sum + lines, 0);
  process.stdout.write(`comments in src, tests aside: ${(share * 100).toFixed(1)} %\n`);
  print('Comment share by folder', commentShares());
  print(`Files over ${FILE_LINES_MAX} lines`, longFiles());
  print(`Folders over ${FOLDER_FILES_MAX} files`, fullFolders());
  const byFolder = Map.groupBy(words, (fault) => dirname(fault.slice(0, fault.indexOf(':'))));
  print(
    'Ruled-out words by folder',
    [...byFolder].map(([folder, rows]) => `${String(rows.length).padStart(4)}  ${folder}`),
  );
}
