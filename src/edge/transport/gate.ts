import type { Server, Socket } from 'node:net';
import { networkKey } from './address.ts';
import type { TransportName } from './handler.ts';
import type { TransportObserver } from './listener.ts';

export interface GateLimits {
  /** Open connections in all. */
  readonly connections: number;
  /** Open connections of one IPv4 address or IPv6 /64; 0 switches the limit off. Loopback is an address like others. */
  readonly connectionsPerAddress: number;
}

export type Admission = 'admitted' | 'full' | 'address-full';

/** Above this share of the limit a listener counts as crowded, and idle peers get less patience (RFC 7766 §6.2.3). */
const CROWDED_SHARE = 0.75;

/** Counts open connections, in all and by address. Knows nothing of sockets. */
export class ConnectionGate {
  readonly #limits: GateLimits;
  readonly #byAddress = new Map<string, number>();
  #open = 0;

  constructor(limits: GateLimits) {
    this.#limits = limits;
  }

  get open(): number {
    return this.#open;
  }

  get crowded(): boolean {
    return this.#open > this.#limits.connections * CROWDED_SHARE;
  }

  /** Whether a connection from `address` may open. Nothing is counted before `enter`. */
  check(address: string): Admission {
    const limit = this.#limits.connectionsPerAddress;
    if (limit > 0 && (this.#byAddress.get(networkKey(address)) ?? 0) >= limit) return 'address-full';
    return this.#open >= this.#limits.connections ? 'full' : 'admitted';
  }

  /** Counts a connection in. The function it gives counts it out, once. */
  enter(address: string): () => void {
    const key = networkKey(address);
    let inside = true;
    this.#open++;
    this.#byAddress.set(key, (this.#byAddress.get(key) ?? 0) + 1);
    return () => {
      if (!inside) return;
      inside = false;
      this.#open--;
      const left = this.#byAddress.get(key)! - 1;
      if (left > 0) this.#byAddress.set(key, left);
      else this.#byAddress.delete(key);
    };
  }
}

/**
 * Puts a gate in front of a server, at the accepting of a socket: for TLS that is before the handshake, which costs most.
 *
 * @param evict closes one connection that can be spared and says whether there was one
 * @returns the open sockets; those of TLS are the ones beneath it
 */
export function guard(
  server: Server,
  transport: TransportName,
  gate: ConnectionGate,
  observe: TransportObserver,
  evict: () => boolean,
): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    // Undefined for a peer that was gone before it was accepted.
    const address = socket.remoteAddress;
    const admission = address === undefined ? 'address-full' : gate.check(address);
    if (address === undefined || admission === 'address-full' || (admission === 'full' && !evict())) {
      observe.connection(transport, 'refused');
      socket.on('error', () => socket.destroy());
      socket.destroy();
      return;
    }
    const leave = gate.enter(address);
    open.add(socket);
    observe.connection(transport, 'opened');
    socket.once('close', () => {
      leave();
      open.delete(socket);
      observe.connection(transport, 'closed');
    });
  });
  return open;
}

/** Closes a guarded server: what it owes is given `graceMs`, then its sockets go, those in a handshake among them. */
export async function closeWithin(server: Server, open: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const patience = setTimeout(() => {
    for (const socket of open) socket.destroy();
  }, graceMs);
  await new Promise<void>((resolve) => server.close(() => resolve()));
  clearTimeout(patience);
}
