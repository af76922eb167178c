/**
 * Follows the two guides of CONTRIBUTING.md in a copy of the tree: writes their files, makes their edits, and runs the
 * commands of their last steps. Prints each step, and exits 1 at the first fault.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Block, edited, GUIDES, guideOf } from '../docs/guides.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CHECK = 'npm run check\n';
/** Milliseconds for the commands of one guide. The check takes most of it: about a minute. */
const STEP_MS = 480_000;

function follow(block: Block, folder: string): void {
  const path = join(folder, block.file);
  if (block.kind === 'ts') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, block.text);
  } else if (block.kind === 'diff') {
    writeFileSync(path, edited(readFileSync(path, 'utf8'), block));
  } else if (block.kind === 'sh') {
    const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
    execFileSync('bash', ['-euc', block.text], {
      cwd: folder,
      env: { ...process.env, PATH },
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: STEP_MS,
      killSignal: 'SIGKILL',
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
    const blocks = guideOf(page, guide);
    // The check of the last guide sees the files of all of them.
    const last = guide === GUIDES.at(-1);
    for (const block of blocks)
      follow(last ? block : { ...block, text: block.text.replace(CHECK, '') }, folder);
    process.stdout.write(`${guide}: ${blocks.length} blocks followed\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
