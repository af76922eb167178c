/** What stands between a listening socket and its protocol: who may open a connection, and who has to close one for it. */

import type { Server, Socket } from 'node:net';
import type { Clock } from '../../../core/clock.ts';
import type { Transport } from '../../../core/transport.ts';
import { every } from '../../../lifecycle/every.ts';
import type { TransportObserver } from '../shared/listener.ts';
import type { HandshakeLimits } from '../shared/tls.ts';
import type { ConnectionLimit } from './connection-limit.ts';

/** A connection on which nothing is under way. */
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
  readonly onFault: (fault: unknown) => void;
  /** For TLS: the time that a handshake may take. */
  readonly handshake: HandshakeLimits | null;
  /** The connection that has been idle longest, of those whose handshake is done. */
  readonly oldestIdle: () => IdleConnection | null;
}

export interface Admissions {
  /** The open sockets; those of TLS are the ones beneath it. */
  readonly open: ReadonlySet<Socket>;
  /** Closes the server: what it owes is given `graceMs`, then its sockets go, those in a handshake among them. */
  closeWithin(graceMs: number): Promise<void>;
  /** Looks at handshakes no longer, for a server that never listened. */
  stop(): void;
}

interface Handshake {
  readonly socket: Socket;
  readonly since: number;
}

/** Deadlines of handshakes are looked at this often within the shorter of them. */
const SWEEPS = 4;

/**
 * Admits connections when the server accepts the socket: for TLS that is before the handshake, which costs most. When the listener is
 * full, a newcomer replaces the oldest handshake that is not finished, else the connection that has been idle longest.
 */
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

  server.on('connection', (socket: Socket) => {
    // Undefined for a peer that was gone before it was accepted.
    const address = socket.remoteAddress;
    const admission = address === undefined ? 'address-full' : connectionLimit.check(address);
    if (address === undefined || admission === 'address-full' || (admission === 'full' && !evict())) {
      observe.connection(transport, 'refused');
      socket.on('error', () => socket.destroy());
      socket.destroy();
      return;
    }
    const leave = connectionLimit.enter(address);
    const peer = peerOf(socket);
    open.add(socket);
    if (handshake !== null) handshakes.begin(peer, { socket, since: clock() });
    observe.connection(transport, 'opened');
    socket.once('close', () => {
      leave();
      open.delete(socket);
      handshakes.end(peer, socket);
      observe.connection(transport, 'closed');
    });
  });
  if (handshake !== null) server.on('secureConnection', (socket: Socket) => handshakes.end(peerOf(socket)));

  const sweeper =
    handshake === null
      ? null
      : every({
          ms: Math.max(10, handshake.crowdedMs / SWEEPS),
          task: () =>
            handshakes.closeBefore(clock() - (connectionLimit.crowded ? handshake.crowdedMs : handshake.ms)),
          onError: options.onFault,
        });
  const stop = (): void => void sweeper?.stop();
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

/** A peer has one connection from one port to a listener, and a TLS socket tells the same as the socket beneath it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Connections whose TLS handshake is not finished, the oldest first. */
class Handshakes {
  readonly #byPeer = new Map<string, Handshake>();

  begin(peer: string, handshake: Handshake): void {
    // A Map keeps an entry that is replaced at its old place.
    this.#byPeer.delete(peer);
    this.#byPeer.set(peer, handshake);
  }

  /** @param socket where given, only the handshake on it: its peer may have a newer one */
  end(peer: string, socket?: Socket): void {
    if (socket === undefined || this.#byPeer.get(peer)?.socket === socket) this.#byPeer.delete(peer);
  }

  /** Takes it out at once: its 'close' event comes in a later turn. */
  takeOldest(): Socket | null {
    for (const [peer, { socket }] of this.#byPeer) {
      this.#byPeer.delete(peer);
      return socket;
    }
    return null;
  }

  /** Closes those that began at a time or before. */
  closeBefore(time: number): void {
    for (const { socket, since } of this.#byPeer.values()) {
      if (since > time) return;
      socket.destroy();
    }
  }
}
