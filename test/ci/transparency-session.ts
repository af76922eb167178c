/**
 * Runs the exercise of docs/TRANSPARENCY.md, in which the reader is a lying operator, and compares what the commands print with what the
 * page shows. Names the example that fails. Exit code 1 then.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { pageExamples, playPage } from '../support/page-session.ts';
import { requirePrograms } from '../support/process.ts';

const LIMIT_MS = 280_000;
const PAGE = readFileSync(new URL('../../docs/TRANSPARENCY.md', import.meta.url), 'utf8');
/** Of the witnesses, and of both servers over HTTP and DNS. */
const PORTS = ['7001', '7002', '7003', '7004', '8080', '8081', '5300', '5301'];

requirePrograms({ curl: 'curl', sed: 'sed' });
const examples = pageExamples(PAGE);
if (examples.length < 6) throw new Error(`only ${examples.length} examples are found in the page`);
const folder = mkdtempSync(join(tmpdir(), 'uqrp-transparency-'));
const free = new Map<string, string>();
for (const port of PORTS) free.set(port, String(await freePort()));
const began = performance.now();
try {
  const faults = playPage({
    examples,
    folder,
    limitMs: LIMIT_MS,
    env: {
      UQRP_HTTP_PORT: free.get('8080'),
      UQRP_DNS_PORT: free.get('5300'),
      UQRP_DOT_PORT: '0',
      UQRP_DOH_PORT: '0',
      UQRP_WORKERS: '1',
    },
    // `700$n` of a loop too.
    rewrite: (script) =>
      script
        .replaceAll('700$n', '$(eval echo \\$WITNESS_$n)')
        .replace(/^/, [1, 2, 3].map((n) => `WITNESS_${n}=${free.get(`700${n}`)}\n`).join(''))
        .replaceAll(/\b(?:7004|808[01]|530[01])\b/g, (port) => free.get(port)!),
    comparable: (text) =>
      text
        .replaceAll(/\b[0-9a-f]{16}\b/g, 'KID')
        .replaceAll(/[A-Za-z0-9+/]{43}=/g, 'KEY')
        .replaceAll(/localhost:\d+/g, 'localhost'),
    cli: process.argv[2],
  });
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  process.stdout.write(`${examples.length} examples, ${faults.length} failed, ${seconds} s\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  endProcesses();
  rmSync(folder, { recursive: true, force: true });
}

/** Those of the page, where it did not come to its end. */
function endProcesses(): void {
  let pids = '';
  try {
    pids = readFileSync(join(folder, 'pids'), 'utf8');
  } catch {
    // None began.
  }
  for (const pid of pids.split('\n').filter((line) => line !== '')) {
    try {
      process.kill(Number(pid), 'SIGTERM');
    } catch {
      // It has ended.
    }
  }
}
