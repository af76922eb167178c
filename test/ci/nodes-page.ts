/**
 * Runs the commands of docs/NODES.md, "Try it on one machine", in their order on free ports, and compares what they print where the page
 * shows it. Exit code 1 when a command fails or prints something else.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { natsMissing } from '../support/feed/bus/nats-server.ts';
import { freePort } from '../support/free-port.ts';
import { requirePrograms } from '../support/process.ts';

const LIMIT_MS = 280_000;
const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const PAGE = readFileSync(new URL('../../docs/NODES.md', import.meta.url), 'utf8');
const MARK = '=== example';

requirePrograms({ curl: 'curl' });
if (natsMissing() === null) process.exitCode = await run();
else process.stdout.write(`skipped: ${natsMissing()}\n`);

async function run(): Promise<number> {
  const [, section = ''] = /^## Try it on one machine\n([\s\S]*?)^## /m.exec(PAGE) ?? [];
  const examples = Array.from(
    section.matchAll(/^```sh\n([\s\S]*?)^```$(?:\n+^```\n([\s\S]*?)^```$)?/gm),
    ([, commands = '', shown]) => ({ commands, shown: shown ?? null }),
  );
  if (examples.length < 7) throw new Error(`only ${examples.length} examples are found in the page`);
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-nodes-page-'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin', 'uqrp'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
  chmodSync(join(folder, 'bin', 'uqrp'), 0o755);
  let script = examples.map(({ commands }) => `echo '${MARK}'\n${commands}`).join('\n');
  for (const port of new Set(script.match(/\b(?:4222|53\d\d|8[045]\d\d)\b/g)))
    script = script.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), `${await freePort()}`);
  try {
    const { code, out, errors } = await shell(script, folder);
    const printed = out.split(`${MARK}\n`).slice(1);
    const wrong = examples.flatMap(({ shown }, i) =>
      shown === null || printed[i] === shown
        ? []
        : [`the page shows\n${shown}and the commands print\n${printed[i]}`],
    );
    if (code !== 0) wrong.push(`exit code ${code} after example ${printed.length}\n${errors}`);
    for (const each of wrong) process.stderr.write(`${each}\n`);
    process.stdout.write(`${examples.length} examples, ${wrong.length} failed\n`);
    return wrong.length === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In a process group of its own: what a failed script leaves running is ended with it. */
async function shell(
  script: string,
  folder: string,
): Promise<{ code: number | null; out: string; errors: string }> {
  const child = spawn('sh', ['-euc', script], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: `${join(folder, 'bin')}:/usr/sbin:${process.env.PATH}`,
      UQRP_WORKERS: '1',
    },
  });
  let out = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const endGroup = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // Nothing is left of it.
    }
  };
  const timer = setTimeout(endGroup, LIMIT_MS);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  endGroup();
  return { code, out, errors };
}
