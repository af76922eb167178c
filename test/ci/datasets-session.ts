/**
 * Runs the commands of docs/DATASETS.md in their order against a server, and compares what they print with what the page shows. Names
 * the example that fails. Exit code 1 then.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pageExamples, playPage } from '../support/page-session.ts';
import { requirePrograms } from '../support/process.ts';
import { startUqrp } from '../support/server-process.ts';

const LIMIT_MS = 280_000;
const PAGE = readFileSync(new URL('../../docs/DATASETS.md', import.meta.url), 'utf8');

requirePrograms({ dig: 'bind9-dnsutils', openssl: 'openssl', sha256sum: 'coreutils', awk: 'mawk' });
const examples = pageExamples(PAGE);
if (examples.length < 10) throw new Error(`only ${examples.length} examples are found in the page`);
const folder = mkdtempSync(join(tmpdir(), 'uqrp-datasets-'));
const server = await startUqrp({ UQRP_DATASETS: 'on', UQRP_DATASETS_ASOF: 'on', UQRP_WORKERS: '1' });
try {
  const began = performance.now();
  const [manifest = '', items = ''] = Array.from(
    PAGE.matchAll(/^```json\n([\s\S]*?)^```$/gm),
    ([, text]) => text,
  );
  writeFileSync(join(folder, 'manifest.json'), manifest);
  writeFileSync(join(folder, 'items.jsonl'), items);
  const faults = playPage({
    examples,
    folder,
    limitMs: LIMIT_MS,
    env: { UQRP_DATA_DIR: server.dataDir, UQRP_DNS_PORT: `${server.ports.dns}` },
    rewrite: (script) => script.replaceAll('-p 5300', `-p ${server.ports.dns}`),
    comparable,
  });
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.stdout.write(`${examples.length} examples, ${faults.length} failed, ${seconds} s\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}

/** Without what differs from run to run: key ids, keys, times, and columns that follow their widths. */
function comparable(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{16}\b/g, 'KID')
    .replaceAll(/[A-Za-z0-9+/]{43}=/g, 'KEY')
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/ +/g, ' ');
}
