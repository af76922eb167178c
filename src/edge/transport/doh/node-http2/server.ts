import type { Socket } from 'node:net';
import { every, type Repeating } from '../../../../lifecycle/every.ts';
import type { Holder } from '../../../../lifecycle/places.ts';
import type { HttpConnections } from '../exchange.ts';
import { sweepMs } from '../http2/limits.ts';
import { type NodeHttp2Options, NodeHttp2Session } from './session.ts';

export interface NodeHttp2ServerOptions extends NodeHttp2Options {
  readonly onFault: (fault: unknown) => void;
}

/** HTTP/2 connections of a listener through `node:http2` (UQRP_HTTP2=node). */
export class NodeHttp2Server implements HttpConnections {
  readonly #options: NodeHttp2ServerOptions;
  readonly #open = new Set<NodeHttp2Session>();
  readonly #sweeper: Repeating;
  #closing = false;

  constructor(options: NodeHttp2ServerOptions) {
    this.#options = options;
    this.#sweeper = every({
      ms: sweepMs(options.limits),
      task: () => {
        for (const session of this.#open) session.sweep();
      },
      onError: options.onFault,
    });
  }

  serve(socket: Socket): Holder {
    const session = new NodeHttp2Session(socket, this.#options);
    this.#open.add(session);
    socket.once('close', () => this.#open.delete(session));
    if (this.#closing) session.drain();
    return { since: () => session.idleSince, giveWay: () => session.abort() };
  }

  drain(): void {
    this.#closing = true;
    for (const session of this.#open) session.drain();
  }

  stop(): void {
    void this.#sweeper.stop();
  }
}
