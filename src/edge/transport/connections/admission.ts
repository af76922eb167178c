/** Accepts connections, and evicts one for a new one when the listener is full. */

import type { Server, Socket } from 'node:net';
import type { Clock } from '../../../core/clock.ts';
import type { Transport } from '../../../core/network/transport.ts';
import type { TransportObserver } from '../shared/listener.ts';
import type { HandshakeLimits } from '../shared/tls.ts';
import type { ConnectionLimit } from './connection-limit.ts';

/** A connection without a request in progress. */
export interface IdleConnection {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Closes it at once. It is not idle any more when this returns. */
  readonly close: () => void;
}

export interface AdmissionOptions {
  readonly transport: Transport;
  readonly connectionLimit: ConnectionLimit;
  readonly observe: TransportObserver;
  readonly clock: Clock;
  /** TLS: the time limit of a handshake. */
  readonly handshake: HandshakeLimits | null;
  /** The longest idle connection whose handshake is complete. */
  readonly oldestIdle: () => IdleConnection | null;
}

export interface Admissions {
  readonly open: ReadonlySet<Socket>;
  /** Closes the server: requests in flight have `graceMs`, then all sockets are destroyed. */
  closeWithin(graceMs: number): Promise<void>;
  /** Stops the handshake timer of a server that never listened. */
  stop(): void;
}

interface Handshake {
  readonly socket: Socket;
  readonly since: number;
}

/** Handshakes are checked this many times within the shorter deadline. */
const SWEEPS = 4;

/** Admits before the TLS handshake, the costliest step. A full listener evicts its oldest handshake, then its longest idle. */
export function admitConnections(server: Server, options: AdmissionOptions): Admissions {
  const { transport, connectionLimit, observe, clock, handshake } = options;
  const open = new Set<Socket>();
  const handshakes = new Handshakes();

  function evict(): boolean {
    const unfinished = handshakes.takeOldest();
    if (unfinished !== null) unfinished.destroy();
    else {
      const idle = options.oldestIdle();
      if (idle === null) return false;
      idle.close();
    }
    observe.connection(transport, 'evicted');
    return true;
  }

  function makeRoom(): boolean {
    if (!evict()) {
      connectionLimit.wantPlace();
      return false;
    }
    // The limit is that of all workers, and each can evict its own only: without this a worker that was replaced while the
    // others held all places would refuse for as long as newcomers keep them full.
    if (connectionLimit.owesPlace()) evict();
    return true;
  }

  server.on('connection', (socket: Socket) => {
    // Undefined for a peer that was gone before it was accepted.
    const address = socket.remoteAddress;
    const admission = address === undefined ? 'address-full' : connectionLimit.check(address);
    if (address === undefined || admission === 'address-full' || (admission === 'full' && !makeRoom())) {
      observe.connection(transport, 'refused');
      socket.on('error', () => socket.destroy());
      socket.destroy();
      return;
    }
    const leave = connectionLimit.enter(address);
    const peer = peerOf(socket);
    open.add(socket);
    if (handshake !== null) {
      handshakes.begin(peer, { socket, since: clock() });
      sweepLater(handshake);
    }
    observe.connection(transport, 'opened');
    socket.once('close', () => {
      leave();
      open.delete(socket);
      handshakes.end(peer, socket);
      observe.connection(transport, 'closed');
    });
  });
  if (handshake !== null) server.on('secureConnection', (socket: Socket) => handshakes.end(peerOf(socket)));

  /** A listener without handshakes has no timer. */
  let sweeper: NodeJS.Timeout | null = null;
  function sweepLater(limits: HandshakeLimits): void {
    sweeper ??= setTimeout(
      () => {
        sweeper = null;
        handshakes.closeBefore(clock() - (connectionLimit.crowded ? limits.crowdedMs : limits.ms));
        if (!handshakes.isEmpty) sweepLater(limits);
      },
      Math.max(10, limits.crowdedMs / SWEEPS),
    ).unref();
  }
  const stop = (): void => clearTimeout(sweeper ?? undefined);
  return {
    open,
    stop,
    async closeWithin(graceMs) {
      const grace = setTimeout(() => {
        for (const socket of open) socket.destroy();
      }, graceMs);
      await new Promise<void>((resolve) => server.close(() => resolve()));
      clearTimeout(grace);
      stop();
    },
  };
}

/** Equal for a TLS socket and the TCP socket beneath it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Connections with an incomplete TLS handshake, oldest first. */
class Handshakes {
  readonly #byPeer = new Map<string, Handshake>();

  get isEmpty(): boolean {
    return this.#byPeer.size === 0;
  }

  begin(peer: string, handshake: Handshake): void {
    // Delete first: a Map keeps a replaced key in its old position.
    this.#byPeer.delete(peer);
    this.#byPeer.set(peer, handshake);
  }

  /** @param socket only the handshake on it: its peer may have a newer one */
  end(peer: string, socket?: Socket): void {
    if (socket === undefined || this.#byPeer.get(peer)?.socket === socket) this.#byPeer.delete(peer);
  }

  /** Removes it now: its 'close' event comes in a later tick. */
  takeOldest(): Socket | null {
    for (const [peer, { socket }] of this.#byPeer) {
      this.#byPeer.delete(peer);
      return socket;
    }
    return null;
  }

  /** Closes handshakes that began at `time` or before. */
  closeBefore(time: number): void {
    for (const { socket, since } of this.#byPeer.values()) {
      if (since > time) return;
      socket.destroy();
    }
  }
}
