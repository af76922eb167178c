import { spawn } from 'node:child_process';
import { once } from 'node:events';

interface Ran {
  readonly code: number | null;
  readonly out: Buffer;
  readonly errors: string;
}

/** Runs a program to its end. Not blocking: what it talks to runs in this process. @param env for its environment */
export async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const out: Buffer[] = [];
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: Buffer.concat(out), errors };
}
