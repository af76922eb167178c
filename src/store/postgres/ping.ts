import { DatabaseError } from 'pg';
import { backgroundTimers } from '../../base/lifecycle/timers.ts';
import { PING_LIMIT_MS } from '../probe.ts';
import { BoundedClient, connectionConfig } from './driver.ts';

/**
 * Milliseconds for which a connection may still be silent once the server answers on a newer one. Of a server that was only slow, both
 * answer at the same time.
 */
const SILENCE_MS = 5_000;

const TAKES_WRITES =
  "select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as readonly";

interface Ping {
  readonly ping: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A connection on which a ping got no answer. */
interface Silent {
  readonly client: BoundedClient;
  /** Loses the connections of the pools that were open then. */
  readonly loseOpen: () => void;
  /** There once the server answers on a newer connection. */
  cancel: (() => void) | null;
}

/**
 * Asks the server whether it takes writes, on a connection of its own: pools that are busy say nothing about the server. A
 * connection that fails once asks no more, and the next ping makes another.
 *
 * After a failover without a word, connections are silent for good, and each statement on them would wait for its whole limit. So one
 * silent connection is kept: if it stays silent although the server answers on a newer one, the connections of its time are lost with it.
 * @param openNow returns what loses the connections that the pools have now
 */
export function createPostgresPing(url: string, openNow: () => () => void): Ping {
  let current: BoundedClient | null = null;
  let silent: Silent | null = null;

  async function connected(): Promise<BoundedClient> {
    if (current !== null) return current;
    const fresh = new BoundedClient({
      ...connectionConfig(url),
      connectionTimeoutMillis: PING_LIMIT_MS,
      query_timeout: PING_LIMIT_MS,
    });
    fresh.on('error', () => drop(fresh));
    current = fresh;
    await fresh.connect();
    return fresh;
  }

  function drop(lost: BoundedClient): void {
    if (current === lost) current = null;
    if (silent?.client === lost) {
      silent.cancel?.();
      silent = null;
    }
    void lost.end().catch(() => {});
  }

  function keepSilent(client: BoundedClient): void {
    if (silent?.client === client) return;
    if (silent !== null || !client.isOpen) {
      drop(client);
      return;
    }
    current = null;
    silent = { client, loseOpen: openNow(), cancel: null };
    for (const event of ['drain', 'end'] as const) client.once(event, () => drop(client));
  }

  function serverAnswers(): void {
    if (silent === null) return;
    const { client, loseOpen } = silent;
    silent.cancel ??= backgroundTimers.after(SILENCE_MS, () => {
      loseOpen();
      client.lose();
    });
  }

  return {
    async ping() {
      const asked = await connected().catch((error: unknown) => {
        if (current !== null) drop(current);
        throw error;
      });
      let answer: { standby: boolean; readonly: boolean } | undefined;
      try {
        const { rows } = await asked.query<{ standby: boolean; readonly: boolean }>(TAKES_WRITES);
        answer = rows[0];
      } catch (error) {
        if (error instanceof DatabaseError) drop(asked);
        else keepSilent(asked);
        throw error;
      }
      serverAnswers();
      if (answer?.standby === false && !answer.readonly) return;
      // The next ping has a new connection: what is set for a role or database begins with one.
      drop(asked);
      const why = answer?.standby === false ? 'is set to read only' : 'is a standby';
      throw new Error(`the PostgreSQL server ${why} and takes no writes`);
    },
    async close() {
      const open = [current, silent?.client ?? null].filter((client) => client !== null);
      for (const client of open) drop(client);
      await Promise.allSettled(open.map((client) => client.end()));
    },
  };
}
