import { Client, type Pool } from 'pg';
import { connectionConfig } from './postgres-driver.ts';

const CHANNEL = 'uqrp_commits';

/** Milliseconds between attempts to listen again: doubled each time, between these. */
const RECONNECT_MIN = 100;
const RECONNECT_MAX = 5_000;

/**
 * Tells other processes of commits, after them and not in them: NOTIFY inside a transaction takes a lock that makes all
 * commits of the server queue. One notice at a time; those asked for meanwhile become one. A notice that is lost costs the
 * time to the next poll.
 */
export class Notifier {
  readonly #pool: Pool;
  #sending: Promise<void> | null = null;
  #again = false;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  poke(): void {
    this.#again = true;
    this.#sending ??= this.#send();
  }

  /** Resolves when no notice is on its way. */
  async idle(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      await this.#pool.query(`notify ${CHANNEL}`).catch(() => {});
    }
    this.#sending = null;
  }
}

/**
 * Listens on a connection of its own, made again whenever it is lost; `heard` is then called at once, for what was missed.
 *
 * @returns the way to stop
 */
export function watchNotices(url: string, heard: () => void): () => void {
  let stopped = false;
  let client: Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let delay = RECONNECT_MIN;

  const connect = async (): Promise<void> => {
    const fresh = new Client({ ...connectionConfig(url), statement_timeout: 0 });
    client = fresh;
    let lost = false;
    const retry = (): void => {
      if (lost) return;
      lost = true;
      void fresh.end().catch(() => {});
      if (stopped) return;
      timer = setTimeout(() => void connect(), delay);
      timer.unref();
      delay = Math.min(delay * 2, RECONNECT_MAX);
    };
    fresh.on('error', retry);
    fresh.on('end', retry);
    fresh.on('notification', heard);
    try {
      await fresh.connect();
      await fresh.query(`listen ${CHANNEL}`);
    } catch {
      retry();
      return;
    }
    if (stopped) return;
    delay = RECONNECT_MIN;
    heard();
  };

  void connect();
  return () => {
    stopped = true;
    clearTimeout(timer);
    void client?.end().catch(() => {});
  };
}
