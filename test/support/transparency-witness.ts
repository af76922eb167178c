/** A new witness of transparency logs in a folder of its own, as a process: `uqrp witness`. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLI } from './command.ts';
import { startWitness } from './witness-process.ts';

export interface NewWitness {
  /** Line of a policy. */
  readonly line: string;
  readonly url: string;
  trust(vkey: string): void;
  stop(): Promise<void>;
  remove(): Promise<void>;
}

export async function newWitness(name: string): Promise<NewWitness> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-witness-'));
  const env = { UQRP_DATA_DIR: folder };
  const run = (...args: readonly string[]): string =>
    execFileSync(process.execPath, [CLI, 'witness', ...args], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
  run('init', `${name}.example/w`);
  const { vkey, url, stop } = await startWitness(env);
  return {
    line: `witness ${name} ${vkey} ${url}`,
    url,
    trust: (key) => void run('trust', key),
    stop: () => stop(),
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
