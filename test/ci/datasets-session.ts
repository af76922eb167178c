/**
 * Runs the commands of docs/DATASETS.md in their order against a server, and compares what they print with what the page shows. Names
 * the example that fails. Exit code 1 then.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requirePrograms } from '../support/process.ts';
import { startUqrp } from '../support/server-process.ts';

const LIMIT_MS = 280_000;
const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const PAGE = readFileSync(new URL('../../docs/DATASETS.md', import.meta.url), 'utf8');

interface Example {
  readonly heading: string;
  readonly commands: string;
  /** Null: the page shows no output. */
  readonly output: string | null;
}

requirePrograms({ dig: 'bind9-dnsutils', openssl: 'openssl', sha256sum: 'coreutils', awk: 'mawk' });
const examples = readExamples();
if (examples.length < 10) throw new Error(`only ${examples.length} examples are found in the page`);
const folder = mkdtempSync(join(tmpdir(), 'uqrp-datasets-'));
const server = await startUqrp({ UQRP_DATASETS: 'on', UQRP_DATASETS_ASOF: 'on', UQRP_WORKERS: '1' });
try {
  const began = performance.now();
  const faults = compare(play());
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.stdout.write(`${examples.length} examples, ${faults.length} failed, ${seconds} s\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** Every `sh` block, with the block without a language that follows it at once. */
function readExamples(): Example[] {
  const found = PAGE.matchAll(/^```sh\n([\s\S]*?)^```$(?:\n+^```\n([\s\S]*?)^```$)?/gm);
  return Array.from(found, ({ index, 1: commands = '', 2: output }) => ({
    heading:
      PAGE.slice(0, index)
        .match(/^## .*$/gm)
        ?.at(-1) ?? '',
    commands,
    output: output ?? null,
  }));
}

/** One shell for all examples, as a reader has it. @returns what each printed; the last one that began may have failed */
function play(): { printed: string[]; fault: string | null } {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'uqrp'), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
  chmodSync(join(bin, 'uqrp'), 0o755);
  const [manifest, items] = Array.from(PAGE.matchAll(/^```json\n([\s\S]*?)^```$/gm), ([, text = '']) => text);
  writeFileSync(join(folder, 'manifest.json'), manifest!);
  writeFileSync(join(folder, 'items.jsonl'), items!);
  const mark = '=== example';
  const script = examples.map(({ commands }) => `echo '${mark}'\n${commands}`).join('\n');
  const { status, stdout, stderr, error } = spawnSync(
    'sh',
    ['-euc', script.replaceAll('-p 5300', `-p ${server.ports.dns}`)],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: LIMIT_MS,
      env: {
        ...process.env,
        PATH: `${bin}:${process.env.PATH}`,
        UQRP_DATA_DIR: server.dataDir,
        UQRP_DNS_PORT: `${server.ports.dns}`,
      },
    },
  );
  const printed = stdout.split(`${mark}\n`).slice(1);
  const reason = error === undefined ? `exit code ${status}` : error.message;
  return { printed, fault: status === 0 ? null : `${reason}\n${stderr}` };
}

function compare({ printed, fault }: ReturnType<typeof play>): string[] {
  const faults = examples.flatMap(({ heading, output }, i) => {
    const said = printed[i];
    if (said === undefined || output === null || comparable(said) === comparable(output)) return [];
    return [`example ${i + 1}, ${heading}: the page shows\n${output}and the commands print\n${said}`];
  });
  if (fault === null) return faults;
  const { heading, commands } = examples[printed.length - 1] ?? examples[0]!;
  return [...faults, `example ${printed.length}, ${heading}: ${fault}of\n${commands}`];
}

/** Without what differs from run to run: key ids, keys, times, and columns that follow their widths. */
function comparable(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{16}\b/g, 'KID')
    .replaceAll(/[A-Za-z0-9+/]{43}=/g, 'KEY')
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/ +/g, ' ');
}
