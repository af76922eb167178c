import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { CLI } from './command.ts';

export interface WitnessProcess {
  readonly child: ChildProcess;
  readonly vkey: string;
  readonly url: string;
  /** Resolves when it has ended. */
  readonly exit: Promise<unknown>;
  readonly stop: () => Promise<void>;
}

/** Starts `uqrp witness serve` on a free port. Its folder was made by `witness init`. */
export async function startWitness(env: NodeJS.ProcessEnv, port = 0): Promise<WitnessProcess> {
  const child = spawn(
    process.execPath,
    [CLI, 'witness', 'serve', '--listen', `127.0.0.1:${port}`, '--json'],
    {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exit = once(child, 'exit');
  let text = '';
  for await (const part of child.stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    text += part.toString();
    if (text.includes('\n')) break;
  }
  if (!text.includes('\n')) throw new Error('the witness ended before it listened');
  const { vkey, url } = JSON.parse(text) as { vkey: string; url: string };
  return {
    child,
    vkey,
    url,
    exit,
    stop: async () => {
      child.kill('SIGTERM');
      await exit;
    },
  };
}
