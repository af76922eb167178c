/** Witnesses of transparency logs as processes of their own: `uqrp witness`. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLI } from './command.ts';
import { start, stop } from './process.ts';

export interface WitnessProcess {
  /** Line of a policy. */
  readonly line: string;
  readonly url: string;
  trust(vkey: string): void;
  stop(): Promise<void>;
  remove(): Promise<void>;
}

export async function startWitness(name: string): Promise<WitnessProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-witness-'));
  const env = { UQRP_DATA_DIR: folder };
  const run = (...args: readonly string[]): string =>
    execFileSync(process.execPath, [CLI, 'witness', ...args], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
    });
  run('init', `${name}.example/w`);
  const child = start(process.execPath, [CLI, 'witness', 'serve', '--listen', '127.0.0.1:0', '--json'], env);
  const { vkey, url } = await firstLine(child);
  return {
    line: `witness ${name} ${vkey} ${url}`,
    url,
    trust: (key) => void run('trust', key),
    stop: () => stop(child),
    async remove() {
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function firstLine(child: ChildProcess): Promise<{ readonly vkey: string; readonly url: string }> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('\n')) resolve(JSON.parse(text.slice(0, text.indexOf('\n'))));
    });
    child.once('exit', (code) => reject(new Error(`the witness ended with ${code}`)));
  });
}
