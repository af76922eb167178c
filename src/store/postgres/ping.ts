import { Client } from 'pg';
import { PING_LIMIT_MS } from '../probe.ts';
import { connectionConfig } from './driver.ts';

export interface Ping {
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Asks the server whether it takes writes, on a connection of its own: pools that are busy say nothing about the server. A
 * connection that fails once is dropped, and the next ping makes another.
 */
export function createPostgresPing(url: string): Ping {
  let client: Client | null = null;

  async function connected(): Promise<Client> {
    if (client !== null) return client;
    const fresh = new Client({
      ...connectionConfig(url),
      connectionTimeoutMillis: PING_LIMIT_MS,
      query_timeout: PING_LIMIT_MS,
    });
    fresh.on('error', () => drop(fresh));
    client = fresh;
    await fresh.connect();
    return fresh;
  }

  function drop(lost: Client): void {
    if (client === lost) client = null;
    void lost.end().catch(() => {});
  }

  return {
    async ping() {
      const asked = await connected().catch((error: unknown) => {
        if (client !== null) drop(client);
        throw error;
      });
      try {
        const { rows } = await asked.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
        if (rows[0]?.standby !== false)
          throw new Error('the PostgreSQL server is a standby and takes no writes');
      } catch (error) {
        drop(asked);
        throw error;
      }
    },
    async close() {
      await client?.end().catch(() => {});
      client = null;
    },
  };
}
