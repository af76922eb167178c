import type { Server } from 'node:http';
import { every } from './every.ts';
import { backgroundTimers, type Timers } from './timers.ts';

export interface CloseHttpOptions {
  readonly server: Server;
  /** Stops accepting; resolves when every connection has ended. */
  readonly close: () => Promise<unknown>;
  /** Milliseconds that requests under way may take. */
  readonly graceMs: number;
  readonly timers?: Timers;
}

const IDLE_CHECK_MS = 50;

/**
 * Closes an HTTP server. Node itself closes only the connections that are idle when the close begins. One that becomes idle
 * later would stay open until its keep-alive ends.
 */
export async function closeHttp({
  server,
  close,
  graceMs,
  timers = backgroundTimers,
}: CloseHttpOptions): Promise<void> {
  const idle = every({ ms: IDLE_CHECK_MS, task: () => server.closeIdleConnections(), onError() {}, timers });
  const cancel = timers.after(graceMs, () => server.closeAllConnections());
  try {
    await close();
  } finally {
    cancel();
    await idle.stop();
  }
}
