import type { Socket } from 'node:net';
import { every, type Repeating } from '../../../../lifecycle/every.ts';
import type { IdleConnection } from '../../connections/admission.ts';
import type { HttpConnections } from '../exchange.ts';
import { Http2Connection, type Http2Options } from './connection.ts';
import { sweepMs } from './limits.ts';
import type { Sink } from './output.ts';

/** A connection that was ended waits so long for its peer to do the same: closing at once would reset unread octets away. */
const LINGER_MS = 500;

export type Http2ServerOptions = Omit<Http2Options, 'address'>;

/** The HTTP/2 connections of a listener: sockets in, requests out. */
export class Http2Server implements HttpConnections {
  readonly #options: Http2ServerOptions;
  readonly #open = new Set<Http2Connection>();
  readonly #sweeper: Repeating;
  #closing = false;

  constructor(options: Http2ServerOptions) {
    this.#options = options;
    this.#sweeper = every({
      ms: sweepMs(options.limits),
      task: () => {
        for (const connection of this.#open) connection.sweep();
      },
      onError: options.onFault,
    });
  }

  /** Speaks HTTP/2 over a socket from now on. */
  serve(socket: Socket): void {
    socket.setNoDelay(true);
    const address = socket.remoteAddress ?? '';
    const connection = new Http2Connection(sinkOf(socket), { ...this.#options, address });
    this.#open.add(connection);
    // 'close' follows. Without this listener a reset by the peer would end the process.
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => connection.receive(chunk));
    socket.on('drain', () => connection.drained());
    socket.once('close', () => {
      this.#open.delete(connection);
      connection.closed();
    });
    if (this.#closing) connection.drain();
  }

  /** The connection that has been idle longest. */
  oldestIdle(): IdleConnection | null {
    let oldest: Http2Connection | null = null;
    let since = Number.POSITIVE_INFINITY;
    for (const connection of this.#open) {
      const idleSince = connection.idleSince;
      if (idleSince === null || idleSince >= since) continue;
      oldest = connection;
      since = idleSince;
    }
    if (oldest === null) return null;
    const connection = oldest;
    return {
      since,
      close: () => {
        // At once: the 'close' event comes in a later turn.
        this.#open.delete(connection);
        connection.abort();
      },
    };
  }

  /** Every connection ends once it has answered what is under way. */
  drain(): void {
    this.#closing = true;
    for (const connection of this.#open) connection.drain();
  }

  /** Nothing is open any more. */
  stop(): void {
    void this.#sweeper.stop();
  }
}

function sinkOf(socket: Socket): Sink {
  return {
    write: (parts) => {
      if (socket.destroyed) return true;
      if (parts.length === 1) return socket.write(parts[0]!);
      socket.cork();
      for (const part of parts) socket.write(part);
      socket.uncork();
      return !socket.writableNeedDrain;
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    end: () => {
      socket.end();
      // Keeps taking what the peer still sends, unread, so that its FIN is seen.
      socket.resume();
      setTimeout(() => socket.destroySoon(), LINGER_MS).unref();
    },
    destroy: () => void socket.destroy(),
  };
}
