import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { ask } from '../../src/process/dns-client.ts';
import { RRTYPE } from '../../src/protocol/dns/codes.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { eventually } from '../e2e/client.ts';
import { CLI, settingsFor, startCommand } from '../support/command.ts';
import { type Account, account, startUqrp, type Uqrp, writeRecords } from '../support/server-process.ts';
import { postgresDatabase } from '../support/store/postgres.ts';
import { postgresMissing } from '../support/store/postgres-files.ts';

const NAMESPACES = ['gone-one', 'gone-two', 'gone-three'];
const RECORDS_EACH = 1200;
const KEPT = 200;

/** Tables in which rows of a customer are, by the column that has the customer's id. */
const OWNED = {
  customers: 'id',
  users: 'id',
  memberships: 'customer_id',
  sessions: 'user_id',
  api_keys: 'customer_id',
  namespaces: 'customer_id',
  webhooks: 'customer_id',
  idempotency_keys: 'customer_id',
} as const;

interface Database {
  readonly env: NodeJS.ProcessEnv;
  /** Runs a statement beside the server, and returns the single number of its answer. */
  count(sql: string): Promise<number>;
  /** Runs a statement that writes, beside the server. */
  run(sql: string): Promise<void>;
  /** Statements that make a trigger, which takes some time for each record that is deleted. */
  readonly slow: readonly string[];
  readonly fast: string;
  drop(): Promise<void>;
}

/** A query that takes about a millisecond, more where the machine is slow: then the deletion takes seconds and not half of one. */
const PAUSE =
  'select count(*) from (with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) select i from n) as pause';

async function sqlite(dir: string): Promise<Database> {
  let file: DatabaseSync | null = null;
  return {
    env: {},
    async count(sql) {
      file ??= new DatabaseSync(join(dir, 'uqrp.sqlite'), { readOnly: true, timeout: 10_000 });
      return Number((file.prepare(sql).get() as { n: number }).n);
    },
    async run(sql) {
      const writer = new DatabaseSync(join(dir, 'uqrp.sqlite'), { timeout: 10_000 });
      writer.exec(sql);
      writer.close();
    },
    slow: [`create trigger slow after delete on records begin ${PAUSE}; end`],
    fast: 'drop trigger slow',
    drop: async () => file?.close(),
  };
}

async function postgres(): Promise<Database> {
  const made = await postgresDatabase();
  const { url } = made;
  const client = new Client({ connectionString: url });
  await client.connect();
  return {
    env: { UQRP_DATABASE_URL: url, UQRP_SECRET: 'x'.repeat(32) },
    count: async (sql) => Number((await client.query<{ n: string }>(sql)).rows[0]!.n),
    run: async (sql) => void (await client.query(sql)),
    slow: [
      `create function slow() returns trigger language plpgsql as $$ begin perform (${PAUSE}); return null; end $$`,
      'create trigger slow after delete on records for each row execute function slow()',
    ],
    fast: 'drop trigger slow on records',
    async drop() {
      await client.end();
      await made.drop();
    },
  };
}

async function fill(as: Account, namespaces: readonly string[], records: number): Promise<void> {
  for (const name of namespaces) {
    assert.equal((await as.call('POST', '/namespaces', { namespace: { name } })).status, 201);
    const data = Buffer.from(name).toString('base64');
    await writeRecords(
      as,
      Array.from({ length: records }, (_, i) => ({ key: `k${i}.${name}.v1`, data })),
    );
  }
}

/** Writes with a credential until it does not count any more. @returns writes that were acknowledged */
async function writeOn(as: Account, writer: number): Promise<number> {
  const namespace = NAMESPACES[writer % NAMESPACES.length]!;
  for (let written = 0; ; written++) {
    const { status } =
      written % 10 === 9
        ? await as.call('POST', '/api_keys', { api_key: { name: `late-${writer}-${written}` } })
        : await as.call('POST', '/records', {
            record: { key: `w${writer}-${written}.${namespace}.v1`, data: '' },
          });
    if (status === 401) return written;
    // A customer has at most 100 keys.
    assert.ok(status === 201 || status === 403 || status === 422, String(status));
  }
}

/** Kills a server as soon as a unit of the deletion was committed, and some are left. */
async function killInTheMiddle(child: ChildProcess, left: () => Promise<number>): Promise<void> {
  const gone = once(child, 'exit');
  const before = await left();
  while ((await left()) >= before) await sleep(10);
  child.kill('SIGKILL');
  await gone;
  const now = await left();
  assert.ok(now > KEPT && now < before, `not in the middle: ${before} to ${now} records`);
}

/** How many answers a hosted name has. */
async function answersOf(server: Uqrp, key: string): Promise<number> {
  const reply = await ask(nameFromText(`get.${key}.uqrp.net`)!, RRTYPE.TXT, {
    server: { host: '127.0.0.1', port: server.ports.dns, ca: null },
    transport: 'udp',
    deadlineMs: 3000,
  });
  return reply.answer.length;
}

for (const [engine, open, skip] of [
  ['SQLite', sqlite, false],
  ['PostgreSQL', postgres, postgresMissing() ?? false],
] as const) {
  describe(`the deletion of an account on ${engine}`, { skip }, () => {
    test('beside running writes, killed twice in the middle, is finished by the next start', {
      timeout: 280_000,
    }, async () => {
      const dir = mkdtempSync(join(tmpdir(), 'uqrp-account-'));
      const database = await open(dir);
      const start = (): Promise<Uqrp> => startUqrp({ UQRP_WORKERS: '1', ...database.env }, dir);
      const left = (): Promise<number> => database.count('select count(*) as n from records');
      let server = await start();
      try {
        const [leaver, stayer] = [
          account(server, 'leaver@example.net'),
          account(server, 'stayer@example.net'),
        ];
        await fill(leaver, NAMESPACES, RECORDS_EACH);
        await fill(stayer, ['kept'], KEPT);
        server.cli(['namespace', 'public-read', NAMESPACES[0]!, 'on']);
        await eventually(async () => (await answersOf(server, `k1.${NAMESPACES[0]}.v1`)) === 1);
        const { id } = (await leaver.call('GET', '/me')).body as { id: string };
        // Else a test that stands still for half a second on a busy machine comes after the middle.
        for (const statement of database.slow) await database.run(statement);

        const writers = Array.from({ length: 6 }, (_, i) => writeOn(leaver, i));
        await sleep(200);
        const deletion = await leaver.call('DELETE', '/me', { email: 'leaver@example.net' });
        assert.equal(deletion.status, 204);
        assert.ok((await Promise.all(writers)).some((written) => written > 0));
        assert.equal((await leaver.call('GET', '/me')).status, 401);

        await killInTheMiddle(server.child, left);
        // The next one goes on with the deletion while it starts.
        const next = startCommand(process.execPath, [CLI, 'serve'], { ...settingsFor(dir), ...database.env });
        next.stdout?.resume();
        next.stderr?.resume();
        await killInTheMiddle(next, left);
        await database.run(database.fast);
        server = await start();
        const customers = `select count(*) as n from customers where id = '${id}'`;
        while ((await database.count(customers)) > 0) await sleep(20);
        for (const [table, column] of Object.entries(OWNED)) {
          const rows = await database.count(`select count(*) as n from ${table} where ${column} = '${id}'`);
          assert.equal(rows, 0, table);
        }
        assert.equal(await left(), KEPT);
        const stay = stayer.at(`http://127.0.0.1:${server.ports.http}/api/v1`);
        assert.equal(((await stay.call('GET', '/records')).body as unknown[]).length, KEPT);
        await eventually(async () => (await answersOf(server, `k1.${NAMESPACES[0]}.v1`)) === 0);
        for (const name of NAMESPACES) {
          assert.equal((await stay.call('POST', '/namespaces', { namespace: { name } })).status, 201, name);
        }
      } finally {
        await server.stop();
        await database.drop();
        rmSync(dir, { recursive: true, force: true });
      }
    });
  });
}
