/** Accepts connections, and evicts one for a new one when the listener is full: of the network that has most. */

import type { Server, Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { createPlaces, type Holder, type Place } from '../../base/lifecycle/places.ts';
import { networksOf } from '../../base/network/address-key.ts';
import type { Transport } from '../../base/network/transport.ts';
import type { TransportObserver } from '../shared/listener.ts';
import type { HandshakeLimits } from '../shared/tls.ts';
import type { ConnectionLimit } from './connection-limit.ts';

export interface AdmissionOptions {
  readonly transport: Transport;
  readonly connectionLimit: ConnectionLimit;
  readonly observe: TransportObserver;
  readonly clock: Clock;
  /** TLS: the time limit of a handshake. */
  readonly handshake: HandshakeLimits | null;
}

export interface Admissions {
  readonly open: ReadonlySet<Socket>;
  /** Who serves a connection says from now on when it last finished a request; before, it gives way before those that are served. */
  serve(socket: Socket, holder: Holder): void;
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

/** By which an unfinished handshake counts as older than it is, milliseconds: it gives way before connections that are served. */
const UNSERVED = 86_400_000;

/** Admits before the TLS handshake, the costliest step. A full listener evicts, of the heaviest network, the one that finished nothing for longest. */
export function admitConnections(server: Server, options: AdmissionOptions): Admissions {
  const { transport, connectionLimit, observe, clock, handshake } = options;
  const open = new Set<Socket>();
  const handshakes = new Handshakes();
  // `connectionLimit` knows how many the process may have; here is who of this worker gives way.
  const places = createPlaces({ all: Number.POSITIVE_INFINITY });
  const placeOf = new Map<string, Place>();

  function evict(newcomer: readonly string[]): boolean {
    if (!places.makeRoom(newcomer)) return false;
    observe.connection(transport, 'evicted');
    return true;
  }

  function makeRoom(address: string): boolean {
    if (!evict(networksOf(address))) {
      connectionLimit.wantPlace();
      return false;
    }
    // The limit is that of all workers, and each can evict its own only: without this a worker that was replaced while the
    // others held all places would refuse for as long as newcomers keep them full.
    if (connectionLimit.owesPlace()) evict([]);
    return true;
  }

  server.on('connection', (socket: Socket) => {
    // Undefined for a peer that was gone before it was accepted.
    const address = socket.remoteAddress;
    const admission = address === undefined ? 'address-full' : connectionLimit.check(address);
    if (
      address === undefined ||
      admission === 'address-full' ||
      (admission === 'full' && !makeRoom(address))
    ) {
      observe.connection(transport, 'refused');
      socket.on('error', () => socket.destroy());
      socket.destroy();
      return;
    }
    const leave = connectionLimit.enter(address);
    const peer = peerOf(socket);
    const since = clock();
    const place = places.enter(networksOf(address), {
      since: () => since - UNSERVED,
      giveWay: () => socket.destroy(),
    });
    placeOf.set(peer, place!);
    open.add(socket);
    if (handshake !== null) {
      handshakes.begin(peer, { socket, since });
      sweepLater(handshake);
    }
    observe.connection(transport, 'opened');
    socket.once('close', () => {
      leave();
      place!.leave();
      open.delete(socket);
      // The peer may have a newer connection from the same port.
      if (placeOf.get(peer) === place) placeOf.delete(peer);
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
    serve(socket, holder) {
      const place = placeOf.get(peerOf(socket));
      if (place !== undefined) place.holder = holder;
    },
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

  /** Closes handshakes that began at `time` or before. */
  closeBefore(time: number): void {
    for (const { socket, since } of this.#byPeer.values()) {
      if (since > time) return;
      socket.destroy();
    }
  }
}
