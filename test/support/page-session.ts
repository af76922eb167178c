import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLI } from './command.ts';

/** A command of a page with what the page says that it prints. */
export interface PageExample {
  readonly heading: string;
  readonly commands: string;
  /** Null: the page shows no output. */
  readonly output: string | null;
}

/** Every `sh` block of a page, with the block without a language that follows it at once. */
export function pageExamples(page: string): PageExample[] {
  const found = page.matchAll(/^```sh\n([\s\S]*?)^```$(?:\n+^```\n([\s\S]*?)^```$)?/gm);
  return Array.from(found, ({ index, 1: commands = '', 2: output }) => ({
    heading:
      page
        .slice(0, index)
        .match(/^## .*$/gm)
        ?.at(-1) ?? '',
    commands,
    output: output ?? null,
  }));
}

interface Session {
  readonly examples: readonly PageExample[];
  /** Where the reader is. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly limitMs: number;
  /** The commands as this machine can run them: with free ports. */
  readonly rewrite: (script: string) => string;
  /** Without what differs from run to run. */
  readonly comparable: (text: string) => string;
  readonly cli?: string | undefined;
}

/** Runs all examples in one shell, as a reader has it. @returns a fault for each that printed something else, or that failed */
export function playPage(session: Session): string[] {
  const { examples, folder, env, limitMs, rewrite, comparable, cli = CLI } = session;
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'uqrp'), `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`);
  chmodSync(join(bin, 'uqrp'), 0o755);
  const mark = '=== example';
  const script = examples.map(({ commands }) => `echo '${mark}'; echo '${mark}' >&2\n${commands}`).join('\n');
  const { status, stdout, stderr, error } = spawnSync('sh', ['-euc', rewrite(script)], {
    cwd: folder,
    encoding: 'utf8',
    timeout: limitMs,
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, ...env },
  });
  const printed = stdout.split(`${mark}\n`).slice(1);
  const told = stderr.split(`${mark}\n`).slice(1);
  const faults = examples.flatMap(({ heading, output }, i) => {
    const said = printed[i];
    if (said === undefined || output === null || comparable(said) === comparable(output)) return [];
    return [
      `example ${i + 1}, ${heading}: the page shows\n${output}and the commands print\n${said}and as errors\n${told[i]}`,
    ];
  });
  if (status === 0) return faults;
  const reason = error === undefined ? `exit code ${status}` : error.message;
  const { heading, commands } = examples[printed.length - 1] ?? examples[0]!;
  return [...faults, `example ${printed.length}, ${heading}: ${reason}\n${told.at(-1)}of\n${commands}`];
}
