/**
 * Prints which files of src/ run for one packet or one request: a hit of the packet cache, a signed answer that is not in the cache, a POST of a
 * record, and a POST that a webhook hears of. A whole server answers ROUNDS of each; a file counts when one of its functions ran in every round.
 *
 *   node scripts/flow-files.ts          the counts
 *   node scripts/flow-files.ts --list   the files, too
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ask } from '../src/process/dns-client.ts';
import { RRTYPE } from '../src/protocol/dns/codes.ts';
import { nameFromText } from '../src/protocol/dns/name.ts';
import { account, startUqrp } from '../test/support/server-process.ts';

const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
const ROUNDS = 20;
/** Where the threads of the server write what ran. */
const FOLDER = mkdtempSync(join(tmpdir(), 'uqrp-flows-'));
/** Runs in each thread before its own code. At SIGUSR2 each thread writes how often the functions of src/ ran since the last signal. */
const HOOK = `
  import { Session } from 'node:inspector';
  import { writeFileSync } from 'node:fs';
  import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let taken = 0;
  const take = () => session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
    const rows = result
      .filter(({ url }) => /\\/src\\/.*\\.ts$/.test(url))
      .map(({ url, functions }) => [url.replace(/^.*?\\/src\\//, 'src/'),
        Math.max(0, ...functions.map(({ ranges }) => ranges[0]).filter(({ startOffset }) => startOffset > 0).map(({ count }) => count))]);
    writeFileSync(${JSON.stringify(FOLDER)} + '/' + taken++ + '-' + threadId, JSON.stringify(rows));
  });
  const channel = new BroadcastChannel('coverage');
  channel.unref();
  channel.onmessage = take;
  if (isMainThread) process.on('SIGUSR2', () => { channel.postMessage(null); take(); });
`;

const server = await startUqrp(
  { UQRP_WORKERS: '1' },
  undefined,
  [],
  ['--import', `data:text/javascript,${encodeURIComponent(HOOK)}`, CLI, 'serve', '--json'],
);
let taken = 0;

/** What ran since the last call: files of src/, with how often the busiest function of each did. */
async function take(): Promise<[file: string, count: number][]> {
  process.kill(server.pid, 'SIGUSR2');
  // Each thread writes by itself; none is late by a second.
  await sleep(1500);
  const names = readdirSync(FOLDER).filter((name) => name.startsWith(`${taken}-`));
  taken++;
  return names.flatMap((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as [string, number][]);
}

/** The files of which a function ran in every round of `work`. */
async function filesOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  await take();
  await work();
  return (await take()).filter(([, count]) => count >= ROUNDS).map(([file]) => file);
}

function print(flow: string, files: readonly string[]): void {
  const sorted = [...new Set(files)].sort();
  process.stdout.write(`${String(sorted.length).padStart(4)} files  ${flow}\n`);
  if (process.argv.includes('--list')) process.stdout.write(sorted.map((file) => `      ${file}\n`).join(''));
}

try {
  const customer = account(server);
  const post = async (path: string, body: object): Promise<void> => {
    const { status } = await customer.call('POST', path, body);
    if (status !== 201) throw new Error(`POST ${path} was answered with ${status}`);
  };
  const write = async (prefix: string, rounds = ROUNDS): Promise<void> => {
    for (let i = 0; i < rounds; i++)
      await post('/records', { record: { key: `${prefix}${i}.flows.v1`, data: 'aGVsbG8=' } });
  };
  const read = async (): Promise<void> => {
    for (let i = 0; i < ROUNDS; i++) {
      await ask(nameFromText(`get.a${i}.flows.v1.uqrp.net`)!, RRTYPE.TXT, {
        server: { host: '127.0.0.1', port: server.ports.dns, ca: null },
        transport: 'udp',
        deadlineMs: 5000,
        dnssecOk: true,
      });
    }
  };
  await post('/namespaces', { namespace: { name: 'flows' } });
  server.cli(['namespace', 'public-read', 'flows', 'on']);
  await write('warm');
  await sleep(1000);
  const written = await filesOf(() => write('a'));
  print('POST of a record', written);
  print('signed answer, not in the cache', await filesOf(read));
  // The cache keeps what is asked again.
  for (let i = 0; i < 2; i++) await read();
  print('hit of the packet cache', await filesOf(read));
  for (let i = 0; i < ROUNDS; i++)
    await post('/webhooks', {
      webhook: { name: `w${i}`, url: `https://example.com/${i}`, events: ['record.upserted'] },
    });
  const delivered = await filesOf(async () => {
    await write('told', 1);
    await sleep(3000);
  });
  print('POST of a record with a webhook', [...written, ...delivered]);
} finally {
  await server.remove();
  rmSync(FOLDER, { recursive: true, force: true });
}
