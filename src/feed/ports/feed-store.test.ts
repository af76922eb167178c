import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { leaderLockSuite } from '../../../test/support/feed/leader-lock-suite.ts';
import { createTestLock } from '../../../test/support/feed/publisher-lock.ts';
import { relayTo } from '../../../test/support/relay.ts';
import { type PostgresDatabase, postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { postgresLeaderLock } from '../../store/postgres/leader-lock.ts';
import { processLock } from '../publish/publisher.ts';

const open = (): AbortSignal => new AbortController().signal;

leaderLockSuite('one process', async () => {
  const lock = processLock();
  return { of: () => lock, revoke: null, async close() {} };
});

leaderLockSuite('test', async () => {
  const lock = createTestLock();
  return { of: (name) => lock.of(name), revoke: async () => lock.revoke(), async close() {} };
});

leaderLockSuite(
  'PostgreSQL',
  async () => {
    const database = await postgresDatabase();
    return {
      of: () => postgresLeaderLock(database.url),
      revoke: () => endHolder(database),
      close: () => database.drop(),
    };
  },
  postgresMissing(),
);

/** Ends the session that holds the lock, as a restart of the server does. */
async function endHolder(database: PostgresDatabase): Promise<void> {
  await database.query(
    "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted",
  );
}

describe('the publisher lock over PostgreSQL', { skip: postgresMissing() ?? false }, () => {
  it('goes to another process when its holder is killed, hangs, or is cut off', async () => {
    const database = await postgresDatabase();
    const relay = await relayTo(database.url);
    try {
      const holder = await holdInProcess(database.url);
      const next = postgresLeaderLock(database.url).acquire(open());
      holder.kill('SIGKILL');
      await (await next).release();

      // The server ends the session of a holder that is silent.
      const paused = await holdInProcess(database.url);
      paused.kill('SIGSTOP');
      await (await postgresLeaderLock(database.url).acquire(open())).release();
      paused.kill('SIGKILL');

      // A holder that hears nothing from the server gives up by itself.
      const lease = await postgresLeaderLock(relay.url, { renewMs: 50 }).acquire(open());
      relay.hang();
      if (!lease.lost.aborted) await once(lease.lost, 'abort');
      await lease.release();

      await relay.cut();
      await assert.rejects(postgresLeaderLock(relay.url).acquire(open()), /ECONNREFUSED/);
    } finally {
      await relay.cut();
      await database.drop();
    }
  });
});

describe('the publisher lock over PostgreSQL, of a process that never hears that it has it', {
  skip: postgresMissing() ?? false,
}, () => {
  it('goes to another process', async () => {
    const database = await postgresDatabase();
    const relay = await relayTo(database.url);
    try {
      const asked = relay.loseAnswer('pg_try_advisory_lock');
      const deaf = postgresLeaderLock(relay.url, { silenceMs: 500 }).acquire(open());
      deaf.catch(() => {});
      await asked;
      await (await postgresLeaderLock(database.url).acquire(open())).release();
      await assert.rejects(deaf);
    } finally {
      await relay.cut();
      await database.drop();
    }
  });
});

const HOLD = `
import { postgresLeaderLock } from ${JSON.stringify(new URL('../../store/postgres/leader-lock.ts', import.meta.url).href)};
await postgresLeaderLock(process.argv[1], { renewMs: 100, silenceMs: 1000 }).acquire(new AbortController().signal);
console.log('held');
`;

/** A process that holds the lock until it is ended. */
async function holdInProcess(url: string): Promise<ReturnType<typeof spawn>> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', HOLD, '--', url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout!, 'data');
  return child;
}
