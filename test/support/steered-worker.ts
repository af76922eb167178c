/**
 * Preloaded into every thread of a server under test (`node --import`). Files of the control folder make DNS workers
 * end, or wait during their start. The rest of the thread is the unchanged program.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread, workerData } from 'node:worker_threads';

const FOLDER = 'TEST_WORKER_STEERING';
const LOOK_MS = 5;

export interface Steering {
  /** Environment of the server. */
  readonly env: NodeJS.ProcessEnv;
  /** Ends a DNS worker as a fault would. */
  kill(worker: number): void;
  /** DNS workers that start after this call wait until `release`. */
  hold(): void;
  release(): void;
  /** Whether this DNS worker waits in its start. */
  isHeld(worker: number): boolean;
  remove(): void;
}

export function steering(): Steering {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-steering-'));
  const file = (name: string): string => join(folder, name);
  return {
    env: { NODE_OPTIONS: `--import ${import.meta.url}`, [FOLDER]: folder },
    kill: (worker) => writeFileSync(file(`kill-${worker}`), ''),
    hold: () => writeFileSync(file('hold'), ''),
    release: () => rmSync(file('hold'), { force: true }),
    isHeld: (worker) => existsSync(file(`held-${worker}`)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const folder = process.env[FOLDER];
const number = (workerData as { worker?: number } | null)?.worker;
if (folder !== undefined && !isMainThread && number !== undefined) await obey(folder, number);

async function obey(folder: string, worker: number): Promise<void> {
  const held = join(folder, `held-${worker}`);
  if (existsSync(join(folder, 'hold'))) {
    writeFileSync(held, '');
    while (existsSync(join(folder, 'hold'))) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    rmSync(held, { force: true });
  }
  const kill = join(folder, `kill-${worker}`);
  setInterval(() => {
    if (!existsSync(kill)) return;
    rmSync(kill, { force: true });
    process.exit(1);
  }, LOOK_MS).unref();
}
