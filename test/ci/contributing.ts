/**
 * Follows the two guides of CONTRIBUTING.md in a copy of the tree: writes their files, makes their edits, and runs the
 * commands of their last steps. Prints each step, and exits 1 at the first fault.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const GUIDES = ['## Add a public service', '## Add a REST endpoint'];

interface Block {
  /** The info string: language, and the file's path after it. */
  readonly kind: string;
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

/** A `+` line replaces the `-` line before it. Without one, it is inserted after the context line before it. */
function edited(source: string, diff: string, file: string): string {
  let lines = source.split('\n');
  let at = -1;
  let replaces = false;
  for (const line of diff.split('\n').filter((each) => each !== '')) {
    const text = line.slice(1);
    if (line.startsWith('+')) {
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

function follow(block: Block, folder: string): void {
  const path = join(folder, block.file);
  if (block.kind === 'ts') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, block.text);
  } else if (block.kind === 'diff') {
    writeFileSync(path, edited(readFileSync(path, 'utf8'), block.text, block.file));
  } else if (block.kind === 'sh') {
    const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
    execFileSync('bash', ['-euc', block.text], {
      cwd: folder,
      env: { ...process.env, PATH },
      stdio: 'inherit',
    });
  }
}

const folder = mkdtempSync(join(tmpdir(), 'uqrp-contributing-'));
try {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of tracked.filter((each) => each !== '')) cpSync(join(ROOT, file), join(folder, file));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  // The formatter and structure-report.ts read only files that git tracks.
  execFileSync('git', ['init', '-q'], { cwd: folder });
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  for (const guide of GUIDES) {
    const start = page.indexOf(guide);
    if (start < 0) throw new Error(`CONTRIBUTING.md has no section ${guide}`);
    const end = page.indexOf('\n## ', start + guide.length);
    const blocks = blocksOf(page.slice(start, end < 0 ? undefined : end));
    if (blocks.length < 4) throw new Error(`only ${blocks.length} blocks in ${guide}`);
    for (const block of blocks) follow(block, folder);
    process.stdout.write(`${guide}: ${blocks.length} blocks followed\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
