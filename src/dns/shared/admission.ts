/** Accepts connections, and evicts one for a new one when the listener is full: of the network that has most. */

import type { Server, Socket } from 'node:net';
import { createPlaces, type Holder, type SharedPlace } from '../../base/lifecycle/places.ts';
import { backgroundTimers, realTimers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import { type AddressSet, networksOf, readAddress } from '../../base/network/address.ts';
import type { Transport } from '../../base/network/transport.ts';
import type { Clock } from '../../base/time.ts';
import { u32At } from '../../protocol/dns/octets.ts';
import { ConnectionTable, createConnectionMemory, type StreamTransport } from './connection-table.ts';
import type { TransportObserver } from './listener.ts';
import { AwaitedHeaders } from './proxied-streams.ts';
import type { HandshakeLimits } from './tls.ts';

interface AdmissionOptions {
  readonly transport: Transport;
  readonly connectionLimit: ConnectionLimit;
  readonly observe: TransportObserver;
  readonly clock: Clock;
  /** TLS: the time limit of a handshake. */
  readonly handshake: HandshakeLimits | null;
  /** Peers that must send a PROXY header first; its client is admitted. Null: none. */
  readonly proxies: AddressSet | null;
  /** Milliseconds for that header to be whole. */
  readonly headerMs: number;
  /** Starts TLS on an admitted connection, or serves it. @param address of the client */
  readonly begin: (socket: Socket, address: string) => void;
}

interface Admissions {
  readonly open: ReadonlySet<Socket>;
  /** The client's address: that of the peer, or of the client that a proxy has named. Empty: the peer is gone. */
  addressOf(socket: Socket): string;
  /** Who serves a connection says from now on when it last finished a request; before, it gives way before those that are served. */
  serve(socket: Socket, holder: Holder): void;
  /** Closes the server: requests in flight have `graceMs`, then all sockets are destroyed. */
  closeWithin(graceMs: number): Promise<void>;
  /** Stops the handshake timer of a server that never listened. */
  stop(): void;
}

interface Admitted {
  readonly place: SharedPlace;
  readonly address: string;
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
  const { transport, connectionLimit, observe, clock, handshake, proxies } = options;
  const open = new Set<Socket>();
  const handshakes = new Handshakes();
  // `connectionLimit` knows how many the process may have; here is who of this worker gives way.
  const places = createPlaces({ all: Number.POSITIVE_INFINITY });
  const admitted = new Map<string, Admitted>();
  const unnamed = new AwaitedHeaders(options.headerMs);

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

  function refuse(socket: Socket): void {
    observe.connection(transport, 'refused');
    socket.on('error', () => socket.destroy());
    socket.destroy();
  }

  function admit(socket: Socket, address: string): void {
    const admission = connectionLimit.check(address);
    if (admission === 'address-full' || (admission === 'full' && !makeRoom(address))) {
      refuse(socket);
      return;
    }
    const leave = connectionLimit.enter(address);
    const peer = peerOf(socket);
    const since = clock();
    const place = places.enter(networksOf(address), {
      since: () => since - UNSERVED,
      giveWay: () => socket.destroy(),
    })!;
    admitted.set(peer, { place, address });
    open.add(socket);
    if (handshake !== null) {
      handshakes.begin(peer, { socket, since });
      sweepLater(handshake);
    }
    observe.connection(transport, 'opened');
    socket.once('close', () => {
      leave();
      place.leave();
      open.delete(socket);
      // The peer may have a newer connection from the same port.
      if (admitted.get(peer)?.place === place) admitted.delete(peer);
      handshakes.end(peer, socket);
      observe.connection(transport, 'closed');
    });
    options.begin(socket, address);
  }

  server.on('connection', (socket: Socket) => {
    // Undefined for a peer that was gone before it was accepted.
    const peer = socket.remoteAddress;
    if (peer === undefined) refuse(socket);
    else if (proxies?.(peer)) {
      unnamed.begin(socket, {
        named: (client) => admit(socket, client ?? peer),
        failed: () => refuse(socket),
      });
    } else admit(socket, peer);
  });
  if (handshake !== null) server.on('secureConnection', (socket: Socket) => handshakes.end(peerOf(socket)));

  /** A listener without handshakes has no timer. */
  let cancelSweep: (() => void) | null = null;
  function sweepLater(limits: HandshakeLimits): void {
    cancelSweep ??= backgroundTimers.after(Math.max(10, limits.crowdedMs / SWEEPS), () => {
      cancelSweep = null;
      handshakes.closeBefore(clock() - (connectionLimit.crowded ? limits.crowdedMs : limits.ms));
      if (!handshakes.isEmpty) sweepLater(limits);
    });
  }
  const stop = (): void => cancelSweep?.();
  return {
    open,
    addressOf: (socket) => admitted.get(peerOf(socket))?.address ?? socket.remoteAddress ?? '',
    serve(socket, holder) {
      const place = admitted.get(peerOf(socket))?.place;
      if (place !== undefined) place.holder = holder;
    },
    stop,
    async closeWithin(graceMs) {
      unnamed.close();
      const cancel = realTimers.after(graceMs, () => {
        for (const socket of open) socket.destroy();
      });
      await new Promise<void>((resolve) => server.close(() => resolve()));
      cancel();
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

export interface ConnectionLimits {
  /** Open connections over this transport in the process. */
  readonly connections: number;
  /** Open connections of one IPv4 address or IPv6 /64 in the process; 0 disables all limits by address. */
  readonly connectionsPerAddress: number;
  /** The limits of an IPv6 /56 and /48: one customer may have that many /64. */
  readonly connectionsPer56: number;
  readonly connectionsPer48: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  connections: LIMITS.tcpConnections,
  ...limitsByAddress(LIMITS.tcpConnectionsPerAddress),
};

/** As many of one address, and more of the networks around it, as by default. @param perAddress 0: no limits by address */
export function limitsByAddress(perAddress: number): Omit<ConnectionLimits, 'connections'> {
  const { tcpConnectionsPerAddress, tcpConnectionsPer56, tcpConnectionsPer48 } = LIMITS;
  return {
    connectionsPerAddress: perAddress,
    connectionsPer56: perAddress * (tcpConnectionsPer56 / tcpConnectionsPerAddress),
    connectionsPer48: perAddress * (tcpConnectionsPer48 / tcpConnectionsPerAddress),
  };
}

type Admission = 'admitted' | 'full' | 'address-full';

/** Above this share of the limit a transport is crowded, and idle timeouts are shorter (RFC 7766 §6.2.3). */
const CROWDED_SHARE = 0.75;
const IPV6_OCTETS = 16;
/** Masks of an address's second word. */
const MASK_56 = 0xffff_ff00;
const MASK_48 = 0xffff_0000;
const KIND = { ipv4: 1, net64: 2, net56: 3, net48: 4 } as const;
const KINDS = 4;

interface Key {
  readonly high: number;
  readonly low: number;
  readonly kind: number;
  readonly limit: number;
}

/** Counts open connections, in total and by address. By address TCP and DoT are one. */
export class ConnectionLimit {
  readonly #limits: ConnectionLimits;
  readonly #table: ConnectionTable;
  readonly #transport: StreamTransport;
  readonly #kinds: number;
  readonly #octets = new Uint8Array(IPV6_OCTETS);

  /** @param table shared by all workers; without it this object counts its own connections */
  constructor(limits: ConnectionLimits, transport: StreamTransport, table: ConnectionTable | null = null) {
    this.#limits = limits;
    this.#transport = transport;
    this.#table = table ?? new ConnectionTable(createConnectionMemory(1, limits.connections), 0);
    this.#kinds = transport === 'doh' ? KINDS : 0;
  }

  /** Of this worker. */
  get open(): number {
    return this.#table.ownOpen(this.#transport);
  }

  get crowded(): boolean {
    return this.#table.open(this.#transport) > this.#limits.connections * CROWDED_SHARE;
  }

  /** After a refusal because no connection was idle: below its equal share, this worker asks the others for a place. */
  wantPlace(): void {
    if (this.open < this.#share) this.#table.wantPlace(this.#transport);
  }

  /** Whether another worker asked for a place, and this one has more than its equal share. */
  owesPlace(): boolean {
    return this.open > this.#share && this.#table.takeWanted(this.#transport);
  }

  get #share(): number {
    return this.#limits.connections / this.#table.workers;
  }

  /** Whether `address` may open one more connection. Only `enter` counts. */
  check(address: string): Admission {
    const limited = this.#limits.connectionsPerAddress > 0;
    for (const { high, low, kind, limit } of limited ? this.#keysOf(address) : [])
      if (this.#table.count(high, low, kind) >= limit) return 'address-full';
    return this.#table.open(this.#transport) >= this.#limits.connections ? 'full' : 'admitted';
  }

  /** Counts a connection. @returns a function that ends the count, once */
  enter(address: string): () => void {
    const keys = this.#limits.connectionsPerAddress > 0 ? this.#keysOf(address) : [];
    let inside = true;
    this.#table.opened(this.#transport);
    for (const { high, low, kind } of keys) this.#table.add(high, low, kind);
    return () => {
      if (!inside) return;
      inside = false;
      this.#table.closed(this.#transport);
      for (const { high, low, kind } of keys) this.#table.remove(high, low, kind);
    };
  }

  /** The keys of an address. An unreadable one counts as ::. */
  #keysOf(address: string): readonly Key[] {
    const octets = this.#octets;
    const length = readAddress(address, octets);
    if (length === 0) octets.fill(0);
    const high = u32At(octets, 0);
    const { connectionsPerAddress, connectionsPer56, connectionsPer48 } = this.#limits;
    const key = (low: number, kind: number, limit: number): Key => ({
      high,
      low: low >>> 0,
      kind: kind + this.#kinds,
      limit,
    });
    if (length === 4) return [key(0, KIND.ipv4, connectionsPerAddress)];
    const low = u32At(octets, 4);
    return [
      key(low, KIND.net64, connectionsPerAddress),
      key(low & MASK_56, KIND.net56, connectionsPer56),
      key(low & MASK_48, KIND.net48, connectionsPer48),
    ];
  }
}
