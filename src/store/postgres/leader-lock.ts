/** The lock of the one publisher over PostgreSQL: an advisory lock that belongs to a session. */
import type { Client } from 'pg';
import { createWaker } from '../../base/lifecycle/loop.ts';
import type { LeaderLease, LeaderLock } from '../../feed/ports/feed-store.ts';
import { BoundedClient, connectionConfig } from './driver.ts';

/** A 64-bit number that no other program may use in this database; `MIGRATION_LOCK` is another one. */
const PUBLISHER_LOCK = 7_352_114_901_224;
/** How often a process asks for the lock that another one holds. */
const TRY_MS = 400;
/** Milliseconds of one question to the server. */
const ANSWER_MS = 1_500;
const RENEW_MS = 1_000;
/** The server ends the session of a holder that does not renew it: a process that hangs must not hold the lock. */
const SILENCE_MS = 4_000;

export interface PostgresLockTimes {
  readonly renewMs?: number;
  readonly silenceMs?: number;
}

/**
 * The lock goes with the session, so SIGKILL of the holder frees it at once. A waiting process polls: a statement that waits for a lock
 * holds a snapshot, and vacuum could remove nothing meanwhile.
 */
export function postgresLeaderLock(url: string, times: PostgresLockTimes = {}): LeaderLock {
  const { renewMs = RENEW_MS, silenceMs = SILENCE_MS } = times;
  return {
    async acquire(signal) {
      signal.throwIfAborted();
      const client = new BoundedClient({
        ...connectionConfig(url),
        connectionTimeoutMillis: ANSWER_MS,
        query_timeout: ANSWER_MS,
      });
      const lost = new AbortController();
      const end = (): void => {
        lost.abort();
        void client.end().catch(() => {});
      };
      client.on('error', end);
      client.on('end', end);
      try {
        await client.connect();
        // Before the lock: an answer that is lost would else leave it to a session that ends with the server's own limits.
        await limitSilence(client, silenceMs);
        await askForLock(client, signal);
      } catch (error) {
        end();
        throw error;
      }
      return leaseOf(client, { lost: lost.signal, end, renewMs });
    },
  };
}

async function askForLock(client: Client, signal: AbortSignal): Promise<void> {
  const waker = createWaker(signal);
  for (;;) {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
      PUBLISHER_LOCK,
    ]);
    signal.throwIfAborted();
    if (rows[0]?.held === true) return;
    await waker.sleep(TRY_MS);
    signal.throwIfAborted();
  }
}

/** A machine that is gone without a word is noticed by probes of the kernel; PostgreSQL before 14 knows no idle_session_timeout. */
async function limitSilence(client: Client, silenceMs: number): Promise<void> {
  for (const setting of [
    'tcp_keepalives_idle = 1',
    'tcp_keepalives_interval = 1',
    'tcp_keepalives_count = 3',
    `idle_session_timeout = ${silenceMs}`,
  ]) {
    await client.query(`set ${setting}`).catch((error: unknown) => {
      if ((error as { code?: string }).code !== UNKNOWN_SETTING) throw error;
    });
  }
}

/** undefined_object (PostgreSQL, appendix A). */
const UNKNOWN_SETTING = '42704';

interface Held {
  readonly lost: AbortSignal;
  readonly end: () => void;
  readonly renewMs: number;
}

function leaseOf(client: Client, { lost, end, renewMs }: Held): LeaderLease {
  async function renew(): Promise<void> {
    const waker = createWaker(lost);
    while (!lost.aborted) {
      await waker.sleep(renewMs);
      if (!lost.aborted) await client.query('select 1').catch(end);
    }
  }
  const renewed = renew();
  return {
    lost,
    async release() {
      // The end of the session frees the lock.
      end();
      await renewed;
    },
  };
}
