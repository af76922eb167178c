/**
 * The feed of changes: time from the answer to a write until a client of `GET /changes/stream` has its change, in one process, over two on
 * PostgreSQL, with and without notices, and of a write of another process on SQLite; then memory and CPU of 256 quiet streams.
 *
 *   node bench/changes.ts [writes] [seconds]
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { preferThisProcess, residentMegabytes } from '../test/support/process.ts';
import { type Account, account, startUqrp, type Uqrp } from '../test/support/server-process.ts';
import { postgresDatabase } from '../test/support/store/postgres.ts';
import { cpuOf } from './lib/cpu.ts';
import { print, quantile, row } from './lib/figures.ts';

const [writes = 500, seconds = 30] = process.argv.slice(2).map(Number);
/** Milliseconds between two writes. */
const PACE_MS = 20;
/** Writes that only a poll finds. */
const UNNOTICED = 50;
const STREAMS = 256;
const STREAMS_EACH = 3;

interface Stream {
  /** When the change of a key was read, `performance.now()`. */
  arrived(key: string): Promise<number>;
  close(): void;
}

async function openStream(server: Uqrp, token: string): Promise<Stream> {
  const request = get({
    host: '127.0.0.1',
    port: server.ports.http,
    path: '/api/v1/changes/stream',
    headers: { authorization: `Bearer ${token}` },
    agent: false,
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`stream: ${response.statusCode}`);
  const times = new Map<string, number>();
  let text = '';
  let isFollowing = false;
  response.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    isFollowing ||= text.includes('event: checkpoint');
    const end = text.lastIndexOf('\n\n');
    for (const [, key = ''] of text.slice(0, Math.max(0, end)).matchAll(/"key":"([^"]+)"/g)) {
      times.set(key, performance.now());
    }
    if (end >= 0) text = text.slice(end);
  });
  response.on('error', () => {});
  // The first checkpoint says that it follows.
  while (!isFollowing) await once(response, 'data');
  return {
    async arrived(key) {
      for (;;) {
        const at = times.get(key);
        if (at !== undefined) return at;
        await once(response, 'data');
      }
    },
    close: () => void request.destroy(),
  };
}

function line(what: string, times: readonly number[], limit: number): void {
  print(row([what, quantile(times, 0.5), quantile(times, 0.99), Math.max(...times), String(limit)]));
}

/** @param write resolves when the write is acknowledged */
async function delays(
  stream: Stream,
  keys: readonly string[],
  write: (key: string) => Promise<void>,
): Promise<number[]> {
  const times: number[] = [];
  for (const key of keys) {
    await write(key);
    const written = performance.now();
    times.push(Math.max(0, (await stream.arrived(key)) - written));
    await sleep(PACE_MS);
  }
  stream.close();
  return times;
}

const keysOf = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${name}${i}.bench.v1`);

async function ownerOf(server: Uqrp): Promise<Account> {
  const owner = account(server);
  await owner.call('POST', '/namespaces', { namespace: { name: 'bench' } });
  return owner;
}

const post =
  (owner: Account) =>
  async (key: string): Promise<void> => {
    const { status } = await owner.call('POST', '/records', { record: { key, data: '' } });
    if (status !== 201) throw new Error(`write: ${status}`);
  };

async function quietStreams(server: Uqrp): Promise<void> {
  const tokens: string[] = [];
  for (let i = 0; i * STREAMS_EACH < STREAMS; i++) {
    const email = `reader${i}@example.net`;
    server.cli(['user', 'create', email]);
    tokens.push(server.cli(['user', 'token', email]).trim());
  }
  const cores = async (): Promise<number> => {
    const before = cpuOf(server);
    await sleep(seconds * 1000);
    return (cpuOf(server) - before) / seconds;
  };
  const [memory, idle] = [residentMegabytes(server.pid).anon, await cores()];
  const streams: Stream[] = [];
  for (let i = 0; i < STREAMS; i++) {
    streams.push(await openStream(server, tokens[Math.floor(i / STREAMS_EACH)]!));
  }
  const busy = await cores();
  const grown = residentMegabytes(server.pid).anon - memory;
  print(`${STREAMS} quiet streams: ${grown.toFixed(1)} MB more (limit 40)`);
  print(
    `CPU ${(busy * 100).toFixed(2)} % of a core, without them ${(idle * 100).toFixed(2)} % (limit: 1 more)`,
  );
  for (const stream of streams) stream.close();
}

preferThisProcess();
print(row(['milliseconds', 'p50', 'p99', 'most', 'limit of p99']));
const single = await startUqrp({ UQRP_WORKERS: '1' });
try {
  const owner = await ownerOf(single);
  line(
    'one process',
    await delays(await openStream(single, owner.token), keysOf('k', writes), post(owner)),
    100,
  );
  const unnoticed = await delays(
    await openStream(single, owner.token),
    keysOf('n', UNNOTICED),
    async (key) => {
      single.cli(['put', key, 'x', '--user', 'test@example.net']);
    },
  );
  line('another process writes', unnoticed, 1200);
  await quietStreams(single);
} finally {
  await single.remove();
}
await overTwo('two, PostgreSQL', writes, 150);
await overTwo('two, PostgreSQL, no notices', UNNOTICED, 1200, [
  'create function public.pg_notify(text, text) returns void language sql as $$ select $$',
  `do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`,
]);

/** One process writes, and the stream is of the other. @param before statements, before they start */
async function overTwo(
  what: string,
  count: number,
  limit: number,
  before: readonly string[] = [],
): Promise<void> {
  const database = await postgresDatabase();
  for (const sql of before) await database.query(sql);
  const shared = {
    UQRP_DATABASE_URL: database.url,
    UQRP_SECRET: 'a secret of more than 32 characters',
    UQRP_ROLE: 'control',
  };
  const pair = [await startUqrp(shared), await startUqrp(shared)] as const;
  try {
    const owner = await ownerOf(pair[0]);
    line(what, await delays(await openStream(pair[1], owner.token), keysOf('k', count), post(owner)), limit);
  } finally {
    await Promise.all(pair.map((server) => server.remove()));
    await database.drop();
  }
}
