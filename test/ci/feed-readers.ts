/**
 * Four readers of `GET /changes` and its stream are killed with SIGKILL at random instants, 200 times in all, while 20,000 changes are
 * written: bulk writes, single ones, deletions, expiries, whole namespaces. Each reader must have seen each change once, in the order of the
 * log. First on SQLite in one process, then on PostgreSQL with two control processes, of which the one that takes no writes is killed too.
 *
 *   node test/ci/feed-readers.ts [changes] [kills] [seed]
 *
 * `node test/ci/feed-readers.ts 100000 1000` takes ten minutes or more.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Uqrp as Client } from '../../sdk/src/uqrp-sdk.ts';
import { seededRng } from '../support/protocol/dns/fuzz.ts';
import { type Account, account, startUqrp, type Uqrp } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';

const SELF = fileURLToPath(import.meta.url);
const NAMESPACE = 'followed';
const READERS = ['page', 'page', 'stream', 'stream'] as const;
/** Octets at the end of a reader's file in which its last line is. */
const TAIL = 1 << 18;

/** A first answer takes two seconds on a busy machine: a reader that has stored nothing in so many lives gets more time, or it never gets further. */
const LIVES_MAX = 5;
const PATIENCE_MS = 3_000;

/** A line of a reader's file: changes, and the place after them. Both are there or neither. */
type Line = readonly [changes: readonly string[], cursor: string];

interface Told {
  readonly event: string;
  readonly namespace: string;
  readonly key?: string;
}

const textOf = ({ event, key, namespace }: Told): string => `${event} ${key ?? namespace}`;

/** The last place of a file. What a kill has left of a line is cut off. */
function placeOf(file: string): string {
  const descriptor = openSync(file, 'r+');
  const { size } = fstatSync(descriptor);
  const tail = Buffer.alloc(Math.min(size, TAIL));
  readSync(descriptor, tail, 0, tail.length, size - tail.length);
  const end = tail.lastIndexOf('\n');
  ftruncateSync(descriptor, size - (tail.length - end - 1));
  closeSync(descriptor);
  const [, cursor] = JSON.parse(tail.subarray(0, end).toString().split('\n').at(-1)!) as Line;
  return cursor;
}

/** The program of a reader. It ends when it is killed. */
async function readForEver(kind: string, file: string, base: string, token: string): Promise<void> {
  const uqrp = new Client({ baseUrl: base, token });
  const keep = (changes: readonly Told[], cursor: string): void =>
    appendFileSync(file, `${JSON.stringify([changes.map(textOf), cursor] satisfies Line)}\n`);
  process.stdout.write('begun');
  for (;;) {
    try {
      const since = placeOf(file);
      if (kind === 'page') {
        const limit = 1 + Math.floor(Math.random() * 500);
        const page = await uqrp.changesPage({ since, limit, wait: 5 });
        if (page.changes.length > 0) keep(page.changes, page.next);
        continue;
      }
      for await (const change of uqrp.changes({ since })) {
        if (change.event === 'reset') throw new Error('reset');
        keep([change], change.cursor);
      }
    } catch {
      // A process was killed, or the places of streams of readers before are not free yet.
      await sleep(50);
    }
  }
}

interface Engine {
  readonly name: string;
  /** Control processes; the first takes the writes. */
  readonly servers: Uqrp[];
  /** Starts one again on its port. */
  restart(server: Uqrp): Promise<Uqrp>;
  /** What the log has of a customer. */
  log(): Promise<Told[]>;
  remove(): Promise<void>;
}

const QUERY = `select type, cause, namespace, key from change_log where owner is not null and (cause <> 'cascade' or key is null)
  and (type like 'record.%' or type like 'namespace.%') order by seq`;

interface LogRow {
  readonly type: string;
  readonly cause: string;
  readonly namespace: string;
  readonly key: string | null;
}

const toldOf = ({ type, cause, namespace, key }: LogRow): Told => ({
  event: cause === 'expiry' ? 'record.expired' : type,
  namespace,
  ...(key === null ? {} : { key }),
});

async function onSqlite(): Promise<Engine> {
  const server = await startUqrp({ UQRP_WORKERS: '1' });
  return {
    name: 'SQLite',
    servers: [server],
    restart: async (same) => same,
    async log() {
      const database = new DatabaseSync(join(server.dataDir, 'uqrp.sqlite'), {
        readOnly: true,
        timeout: 10_000,
      });
      const rows = database.prepare(QUERY).all() as unknown as LogRow[];
      database.close();
      return rows.map(toldOf);
    },
    remove: () => server.remove(),
  };
}

async function onPostgres(): Promise<Engine> {
  const database = await postgresDatabase();
  const env = {
    UQRP_DATABASE_URL: database.url,
    UQRP_SECRET: 'a secret of more than 32 characters',
    UQRP_ROLE: 'control',
  };
  const servers = [await startUqrp(env), await startUqrp(env)];
  return {
    name: 'PostgreSQL, two control processes',
    servers,
    restart: ({ ports, dataDir }) => startUqrp({ ...env, UQRP_HTTP_PORT: String(ports.http) }, dataDir),
    log: async () => ((await database.query(QUERY)) as LogRow[]).map(toldOf),
    async remove() {
      await Promise.all(servers.map((server) => server.remove()));
      await database.drop();
    },
  };
}

/**
 * Writes until so many changes are in the log.
 * @param pace the share that may be written by now, 0 to 1: the kills come all the time
 * @param onWrite called after each
 * @returns how many namespaces it has deleted; as many records expire
 */
async function write(
  owner: Account,
  changes: number,
  random: (bound: number) => number,
  pace: () => number,
  onWrite: () => void,
): Promise<number> {
  let brief = 0;
  const call = async (method: string, path: string, body?: unknown): Promise<{ id: string }> => {
    const answer = await owner.call(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    onWrite();
    return answer.body as { id: string };
  };
  const key = (i: number): string => `k${i}.${NAMESPACE}.v1`;
  for (let done = 0, round = 0; done < changes; round++) {
    while (done / changes > pace()) await sleep(20);
    const from = random(5_000);
    const length = 1 + random(500);
    const keys = Array.from({ length }, (_, i) => key(from + i));
    await call('POST', '/records/bulk', { records: keys.map((one) => ({ key: one, data: '' })) });
    done += length;
    if (round % 2 === 0) {
      await call('POST', '/records/bulk', { delete: keys });
      done += length;
    }
    if (round % 5 === 0) {
      const short = { key: `short${round}.${NAMESPACE}.v1`, data: '', expires_in: 1 };
      await call('POST', '/records', { record: short });
      const { id } = await call('POST', '/namespaces', { namespace: { name: `brief${round}` } });
      await call('POST', '/records', { record: { key: `a.brief${round}.v1`, data: '' } });
      await call('DELETE', `/namespaces/${id}`);
      done += 6;
      brief++;
    }
  }
  return brief;
}

async function follow(engine: Engine, changes: number, kills: number, seed: number): Promise<void> {
  const began = performance.now();
  const random = seededRng(seed);
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-readers-'));
  const [first, second] = engine.servers;
  const owner = account(first!, 'followed@example.net');
  const { body } = await owner.call('GET', '/changes');
  const start = (body as { next: string }).next;
  const files = READERS.map((kind, i) => join(dir, `${kind}${i}`));
  for (const file of files) appendFileSync(file, `${JSON.stringify([[], start] satisfies Line)}\n`);
  await owner.call('POST', '/namespaces', { namespace: { name: NAMESPACE } });

  let isWritten = false;
  let killed = 0;
  let writes = 0;
  let restarts = 0;
  const ends: (() => Promise<void>)[] = [];
  const startReader = (i: number): ChildProcess => {
    const { ports } = engine.servers[random(engine.servers.length)]!;
    const base = `http://127.0.0.1:${ports.http}`;
    return spawn(process.execPath, [SELF, 'read', READERS[i]!, files[i]!, base, owner.token], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  };
  /** Kills a reader again and again, then leaves one that nobody kills. */
  const harass = async (i: number): Promise<void> => {
    let lives = 0;
    let known = 0;
    let stored = statSync(files[i]!).size;
    for (;;) {
      const child = startReader(i);
      const gone = once(child, 'exit');
      const kill = async (): Promise<void> => {
        child.kill('SIGKILL');
        await gone;
      };
      if (killed >= kills) {
        ends.push(kill);
        return;
      }
      // Before that it is Node that starts.
      await once(child.stdout!, 'data');
      await sleep(random(400));
      const before = stored;
      stored = statSync(files[i]!).size;
      if (stored > before) {
        lives = 0;
        known = writes;
      } else if (writes > known) lives++;
      for (let ms = 0; lives >= LIVES_MAX && stored === before && ms < PATIENCE_MS; ms += 50) {
        await sleep(50);
        stored = statSync(files[i]!).size;
      }
      if (stored > before) lives = 0;
      killed++;
      await kill();
    }
  };
  const harassServer = async (): Promise<void> => {
    while (second !== undefined && !isWritten) {
      await sleep(2_000 + random(3_000));
      const server = engine.servers[1]!;
      const gone = once(server.child, 'exit');
      server.child.kill('SIGKILL');
      await gone;
      engine.servers[1] = await engine.restart(server);
      restarts++;
    }
  };
  try {
    const writing = write(
      owner,
      changes,
      random,
      () => killed / kills,
      () => writes++,
    ).finally(() => {
      isWritten = true;
    });
    const [brief] = await Promise.all([writing, harassServer(), ...files.map((_, i) => harass(i))]);
    let expected: string[] = [];
    const counted = (event: string): number => expected.filter((text) => text.startsWith(event)).length;
    for (const until = Date.now() + 120_000; ; await sleep(500)) {
      expected = (await engine.log()).map(textOf);
      if (counted('namespace.deleted') === brief && counted('record.expired') === brief) break;
      assert.ok(Date.now() < until, 'something is not deleted or expired');
    }
    assert.ok(expected.length >= changes);
    const seenIn = (file: string): string[] =>
      readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .flatMap((line) => (JSON.parse(line) as Line)[0]);
    for (const [i, file] of files.entries()) {
      let seen = seenIn(file);
      for (const until = Date.now() + 300_000; seen.length < expected.length; seen = seenIn(file)) {
        assert.ok(Date.now() < until, `reader ${i} has ${seen.length} of ${expected.length}`);
        await sleep(1_000);
      }
      const wrong = seen.findIndex((text, at) => text !== expected[at]);
      assert.equal(wrong, -1, `reader ${i}, change ${wrong}: ${seen[wrong]}, the log has ${expected[wrong]}`);
    }
    const seconds = Math.round((performance.now() - began) / 1000);
    process.stdout.write(
      `${engine.name}, seed ${seed}: ${expected.length} changes (${counted('record.deleted')} deletions, ${counted('record.expired')} expiries, ` +
        `${counted('namespace.deleted')} namespaces), ${READERS.length} readers, ${killed} kills of them, ${restarts} of a control process: ` +
        `each seen once in order, ${seconds} s\n`,
    );
  } finally {
    await Promise.all(ends.map((end) => end()));
    rmSync(dir, { recursive: true, force: true });
  }
}

if (process.argv[2] === 'read') {
  const [kind, file, base, token] = process.argv.slice(3) as [string, string, string, string];
  assert.ok(existsSync(file));
  await readForEver(kind, file, base, token);
}

const [changes = 20_000, kills = 200, seed = 20_261_125] = process.argv.slice(2).map(Number);
const missing = postgresMissing();
if (missing !== null) process.stdout.write(`skipped: ${missing}\n`);
for (const open of missing === null ? [onSqlite, onPostgres] : [onSqlite]) {
  const engine = await open();
  try {
    await follow(engine, changes, kills, seed);
  } finally {
    await engine.remove();
  }
}
