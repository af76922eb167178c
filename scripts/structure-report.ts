/**
 * Prints the structure of the project in figures: lines and files by folder, files with one importer, long files, exported names with several
 * meanings. With `--check` it prints only these names, and exits 1 when there are too many.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Exported names of src/ that may have several meanings. The number may only become smaller. */
const SHARED_NAMES_MAX = 5;
/** Maximum lines of a file. Tables of data do not count. */
const FILE_LINES_MAX = 400;

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.(?:tsx?|md)$/.test(file) && !file.startsWith('test/fixtures/'))
  // A file that is deleted in the working tree may still be in the index.
  .filter((file) => existsSync(ROOT + file));
const texts = new Map(tracked.map((file) => [file, readFileSync(ROOT + file, 'utf8')]));
const isTest = (file: string): boolean => file.endsWith('.test.ts');
const sources = [...texts.keys()].filter((file) => /\.tsx?$/.test(file) && !isTest(file));

function linesOf(file: string): number {
  return texts.get(file)!.split('\n').length - 1;
}

interface Size {
  readonly files: number;
  readonly lines: number;
}

function sizeOf(files: readonly string[]): Size {
  return { files: files.length, lines: files.reduce((sum, file) => sum + linesOf(file), 0) };
}

function under(...folders: readonly string[]): readonly string[] {
  return sources.filter((file) => folders.some((folder) => file.startsWith(folder)));
}

function medianOf(files: readonly string[]): number {
  return files.map(linesOf).sort((a, b) => a - b)[Math.floor(files.length / 2)] ?? 0;
}

/** The files of src/ that exactly one other file of src/ imports, in its own folder. */
function filesOfOneNeighbour(): readonly string[] {
  const importers = new Map<string, string[]>();
  for (const file of under('src/')) {
    for (const [, target] of texts.get(file)!.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const path = posix.normalize(posix.join(posix.dirname(file), target!));
      importers.set(path, [...(importers.get(path) ?? []), file]);
    }
  }
  return [...importers]
    .filter(([path, from]) => from.length === 1 && posix.dirname(path) === posix.dirname(from[0]!))
    .map(([path, from]) => `${path} (${posix.basename(from[0]!)})`)
    .sort();
}

/** Exported names of src/ with the files that export another thing under them. */
function namesWithSeveralMeanings(): ReadonlyMap<string, readonly string[]> {
  const places = new Map<string, string[]>();
  const declared =
    /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;
  for (const file of under('src/')) {
    // A type and a constant of one name in one file are one thing.
    const names = new Set([...texts.get(file)!.matchAll(declared)].map(([, name]) => name!));
    for (const name of names) places.set(name, [...(places.get(name) ?? []), file]);
  }
  return new Map([...places].filter(([, files]) => files.length > 1));
}

function commentShare(): string {
  let comments = 0;
  let lines = 0;
  for (const file of under('src/')) {
    let inside = false;
    for (const raw of texts.get(file)!.split('\n')) {
      const line = raw.trim();
      if (line === '') continue;
      lines++;
      if (inside || line.startsWith('//') || line.startsWith('/*')) comments++;
      if (line.startsWith('/*')) inside = true;
      if (inside && line.includes('*/')) inside = false;
    }
  }
  return `${((100 * comments) / lines).toFixed(1)} %`;
}

function print(title: string, rows: readonly string[]): void {
  process.stdout.write(`\n${title}\n${rows.map((row) => `  ${row}\n`).join('')}`);
}

/** One row of the table of goals: what stands, and what the goal is. */
function goal(name: string, { files, lines }: Size, wanted: string): string {
  return `${name.padEnd(34)} ${String(lines).padStart(6)} lines ${String(files).padStart(4)} files   goal ${wanted}`;
}

const names = namesWithSeveralMeanings();
if (process.argv.includes('--check')) {
  if (names.size > SHARED_NAMES_MAX)
    for (const [name, files] of names)
      process.stderr.write(`the exported name ${name} has several meanings: ${files.join(', ')}\n`);
  process.stdout.write(`names: ${names.size} with several meanings\n`);
  process.exitCode = names.size <= SHARED_NAMES_MAX ? 0 : 1;
} else {
  const src = under('src/');
  const docs = [...texts.keys()].filter((file) => file.startsWith('docs/'));
  print('Goals, tests aside', [
    goal('src', sizeOf(src), '52,000 lines, 400 files'),
    goal('sdk and dashboard', sizeOf(under('sdk/', 'dashboard/')), '18,500 lines'),
    goal('scripts', sizeOf(under('scripts/')), '1,900 lines'),
    goal('bench', sizeOf(under('bench/')), '3,000 lines'),
    goal('docs', sizeOf(docs), '8,000 lines'),
    `${'median file of src'.padEnd(34)} ${String(medianOf(src)).padStart(6)} lines              goal 130`,
    `${'exported names, several meanings'.padEnd(34)} ${String(names.size).padStart(6)}                    goal 10`,
    `${'files of one neighbour'.padEnd(34)} ${String(filesOfOneNeighbour().length).padStart(6)}`,
    `${'comments in src'.padEnd(34)} ${commentShare().padStart(6)}                    goal 5 to 12 %`,
  ]);
  const folders = [...Map.groupBy(src, (file) => file.split('/').slice(0, 2).join('/'))];
  print(
    'Folders of src',
    folders.map(([folder, files]) => goal(folder, sizeOf(files), '').replace(/\s+goal $/, '')),
  );
  print(
    `Files over ${FILE_LINES_MAX} lines`,
    sources.filter((file) => linesOf(file) > FILE_LINES_MAX).map((file) => `${linesOf(file)}  ${file}`),
  );
  print(
    'Pages over 300 lines',
    docs.filter((file) => linesOf(file) > 300).map((file) => `${linesOf(file)}  ${file}`),
  );
  print('Files of one neighbour (joined to it, or a secret of their own)', filesOfOneNeighbour());
  print(
    'Exported names with several meanings',
    [...names].map(([name, files]) => `${name}: ${files.join(', ')}`),
  );
}
