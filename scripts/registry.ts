/**
 * Makes a registry of sample datasets: `node scripts/registry.ts FOLDER [options]`. See scripts/registry/README.md.
 * With `--import` it also attests and imports them, with the variables of the environment (UQRP_DATA_DIR).
 */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeRegistry } from './registry/files.ts';

const USAGE =
  'usage: node scripts/registry.ts FOLDER [--gtins N] [--bins N] [--seed N] [--version 1.0.0] [--url BASE] [--attest] [--import]';
const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url));

const { values, positionals } = readArguments();
const [folder] = positionals;
if (folder === undefined || positionals.length > 1) fail(USAGE, 2);
const datasets = writeRegistry(folder, {
  seed: natural('seed', values.seed),
  gtins: natural('gtins', values.gtins),
  bins: natural('bins', values.bins),
  version: values.version,
  url: values.url,
});
for (const { slug, manifest, items, lines } of datasets) {
  process.stdout.write(`${slug}: ${lines} lines in ${items}\n`);
  if (!values.attest && !values.import) continue;
  const signed = join(dirname(manifest), 'signed.json');
  const output = openSync(signed, 'w');
  dataset(['attest', manifest, '--items', items], output);
  closeSync(output);
  if (values.import) dataset(['import', signed, '--items', items], 'inherit');
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        gtins: { type: 'string', default: '100000' },
        bins: { type: 'string', default: '10000' },
        seed: { type: 'string', default: '1' },
        version: { type: 'string', default: '1.0.0' },
        url: { type: 'string', default: 'https://data.example.net' },
        attest: { type: 'boolean', default: false },
        import: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return fail(`${(error as Error).message}\n${USAGE}`, 2);
  }
}

function natural(name: string, text: string): number {
  const number = Number(text);
  if (!/^\d{1,8}$/.test(text) || number < 1) fail(`--${name} takes a number from 1 to 99999999`, 2);
  return number;
}

function dataset(args: readonly string[], stdout: number | 'inherit'): void {
  const line = [CLI, 'dataset', ...args];
  const { status } = spawnSync(process.execPath, line, { stdio: ['ignore', stdout, 'inherit'] });
  if (status !== 0) fail(`uqrp dataset ${args[0]} failed`, 1);
}

function fail(message: string, code: number): never {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}
