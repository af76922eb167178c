import { LIMITS } from '../../base/limits.ts';
import { readAddress } from '../../base/network/address.ts';
import { u32At } from '../../protocol/dns/octets.ts';
import { ConnectionTable, createConnectionMemory, type StreamTransport } from './connection-table.ts';

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
  connectionsPerAddress: LIMITS.tcpConnectionsPerAddress,
  connectionsPer56: LIMITS.tcpConnectionsPer56,
  connectionsPer48: LIMITS.tcpConnectionsPer48,
};

export type Admission = 'admitted' | 'full' | 'address-full';

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
