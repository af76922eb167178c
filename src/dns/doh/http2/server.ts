import type { Socket } from 'node:net';
import { every, type Repeating } from '../../../base/lifecycle/every.ts';
import type { Holder } from '../../../base/lifecycle/places.ts';
import type { HttpConnections } from '../exchange.ts';
import { Http2Connection, type Http2Options } from './connection.ts';
import { sweepMs } from './limits.ts';
import type { Sink } from './output.ts';

/** Milliseconds to wait for the peer's FIN: closing at once would reset unread octets. */
const LINGER_MS = 500;

export type Http2ServerOptions = Omit<Http2Options, 'address'>;

/** The HTTP/2 connections of a listener. */
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

  /** Serves a socket. @returns what its place is used for */
  serve(socket: Socket): Holder {
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
    return { since: () => connection.idleSince, giveWay: () => connection.abort() };
  }

  /** Closes every connection after its requests in flight are answered. */
  drain(): void {
    this.#closing = true;
    for (const connection of this.#open) connection.drain();
  }

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
      // Keep reading and discard, so that the peer's FIN is seen.
      socket.resume();
      setTimeout(() => socket.destroySoon(), LINGER_MS).unref();
    },
    destroy: () => void socket.destroy(),
  };
}
