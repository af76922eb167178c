/**
 * Prints which files of src/ run for one packet or one request: a hit of the packet cache, a signed answer that is not in the cache, a POST of a
 * record, and a POST that a webhook hears of. A whole server answers ROUNDS of each; a file counts when one of its functions ran in every round.
 *
 *   node scripts/flow-files.ts          the counts
 *   node scripts/flow-files.ts --list   the files, too
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { encodeQuery } from '../src/protocol/dns/message/message.ts';
import { nameFromText } from '../src/protocol/dns/name.ts';
import { account, startUqrp, type Uqrp } from '../test/support/server-process.ts';

const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
const ROUNDS = 20;
const TXT = 16;

/**
 * Runs in each thread of the server before its own code. At SIGUSR2 each thread writes to a file how often the functions of src/ ran since the
 * last signal. @param folder where the files go
 */
function hook(folder: string): string {
  return `data:text/javascript,${encodeURIComponent(`
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
      writeFileSync(${JSON.stringify(folder)} + '/' + taken++ + '-' + threadId + '.json', JSON.stringify(rows));
    });
    const channel = new BroadcastChannel('coverage');
    channel.unref();
    channel.onmessage = take;
    if (isMainThread) process.on('SIGUSR2', () => { channel.postMessage(null); take(); });
  `)}`;
}

/** Counts what runs in the threads of a server during one piece of work. */
class Coverage {
  readonly #folder = mkdtempSync(join(tmpdir(), 'uqrp-flows-'));
  #taken = 0;

  options(): string[] {
    return ['--import', hook(this.#folder)];
  }

  /** @returns files of src/ of which a function ran at least `times` times while `work` did */
  async of(server: Uqrp, times: number, work: () => Promise<unknown>): Promise<readonly string[]> {
    await this.#take(server);
    await work();
    const files = new Set<string>();
    for (const name of await this.#take(server)) {
      const rows = JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as [string, number][];
      for (const [file, count] of rows) if (count >= times) files.add(file);
    }
    return [...files].sort();
  }

  async #take(server: Uqrp): Promise<readonly string[]> {
    const mine = (): string[] =>
      existsSync(this.#folder)
        ? readdirSync(this.#folder).filter((name) => name.startsWith(`${this.#taken}-`))
        : [];
    process.kill(server.pid, 'SIGUSR2');
    // Each thread writes by itself; none is late by a second.
    await sleep(1500);
    const names = mine();
    this.#taken++;
    return names;
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Asks over UDP with the DO bit, and waits for the answer. */
async function ask(port: number, name: string): Promise<void> {
  const socket = createSocket('udp4');
  try {
    const reply = once(socket, 'message', { signal: AbortSignal.timeout(5000) });
    socket.send(
      encodeQuery(nameFromText(name)!, TXT, { id: 7, rd: false, edns: { payload: 1232, dnssecOk: true } }),
      port,
      '127.0.0.1',
    );
    await reply;
  } finally {
    socket.close();
  }
}

const coverage = new Coverage();
const server = await startUqrp(
  { UQRP_WORKERS: '1' },
  undefined,
  [],
  [...coverage.options(), CLI, 'serve', '--json'],
);
try {
  const customer = account(server);
  const made = await customer.call('POST', '/namespaces', { namespace: { name: 'flows' } });
  if (made.status !== 201) throw new Error(`no namespace: ${JSON.stringify(made.body)}`);
  server.cli(['namespace', 'public-read', 'flows', 'on']);
  const zone = 'uqrp.net';
  const write = async (prefix: string): Promise<void> => {
    for (let i = 0; i < ROUNDS; i++) {
      const record = { key: `${prefix}${i}.flows.v1`, data: 'aGVsbG8=' };
      const { status } = await customer.call('POST', '/records', { record });
      if (status !== 201) throw new Error(`a POST of a record was answered with ${status}`);
    }
  };
  const flows: Record<string, readonly string[]> = {};
  await write('warm');
  await sleep(1000);
  flows['POST of a record'] = await coverage.of(server, ROUNDS, () => write('a'));
  const names = Array.from({ length: ROUNDS }, (_, i) => `get.a${i}.flows.v1.${zone}`);
  flows['signed answer, not in the cache'] = await coverage.of(server, ROUNDS, async () => {
    for (const name of names) await ask(server.ports.dns, name);
  });
  // The cache keeps what is asked again.
  for (const name of [...names, ...names]) await ask(server.ports.dns, name);
  flows['hit of the packet cache'] = await coverage.of(server, ROUNDS, async () => {
    for (const name of names) await ask(server.ports.dns, name);
  });
  for (let i = 0; i < ROUNDS; i++) {
    const webhook = { name: `w${i}`, url: `https://example.com/${i}`, events: ['record.upserted'] };
    const { status, body } = await customer.call('POST', '/webhooks', { webhook });
    if (status !== 201) throw new Error(`no webhook: ${JSON.stringify(body)}`);
  }
  const delivered = await coverage.of(server, ROUNDS, async () => {
    await customer.call('POST', '/records', { record: { key: 'told.flows.v1', data: 'aGVsbG8=' } });
    await sleep(3000);
  });
  flows['POST of a record with a webhook'] = [
    ...new Set([...flows['POST of a record']!, ...delivered]),
  ].sort();
  for (const [flow, files] of Object.entries(flows)) {
    process.stdout.write(`${String(files.length).padStart(4)} files  ${flow}\n`);
    if (process.argv.includes('--list'))
      process.stdout.write(files.map((file) => `      ${file}\n`).join(''));
  }
} finally {
  await server.remove();
  coverage.close();
}
