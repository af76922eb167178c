import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Step = (path: string) => Promise<void>;

/** Runs each function on the path of one view, each in a child process of its own: memory of one does not count for another. */
export async function runViewSteps(program: string, steps: readonly Step[]): Promise<void> {
  const path = process.env.VIEW_PATH;
  const chosen = steps.find(({ name }) => name === process.env.VIEW_STEP);
  if (path !== undefined && chosen !== undefined) return chosen(path);
  const directory = mkdtempSync(join(tmpdir(), 'uqrp-view-'));
  try {
    for (const { name: next } of steps) {
      const env = { ...process.env, VIEW_PATH: join(directory, 'view'), VIEW_STEP: next };
      const child = fork(program, process.argv.slice(2), { env });
      await new Promise<void>((resolve, reject) => {
        child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${next} failed`))));
      });
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
