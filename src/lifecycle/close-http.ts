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

/** Milliseconds between two looks for connections that became idle. */
const LOOK_MS = 50;

/**
 * Closes an HTTP server. Node closes the connections that are idle when the close begins; one whose request is answered later
 * stays open until its keep-alive ends, and one that never sends a request for longer still.
 */
export async function closeHttp({
  server,
  close,
  graceMs,
  timers = backgroundTimers,
}: CloseHttpOptions): Promise<void> {
  const idle = every({ ms: LOOK_MS, task: () => server.closeIdleConnections(), onError() {}, timers });
  const cancel = timers.after(graceMs, () => server.closeAllConnections());
  try {
    await close();
  } finally {
    cancel();
    await idle.stop();
  }
}
