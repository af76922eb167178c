import { randomUpTo, realRandom } from '../../base/chance.ts';
import { fnvEnd, fnvStep } from '../../base/hashes.ts';
import { type AddressSet, type PeerAddress, readAddress } from '../../base/network/address.ts';
import type { ConnectionEvent, LimitedEvent, Transport } from '../../base/network/transport.ts';
import type { Clock } from '../../base/time.ts';
import type { ServerCookies } from './cookies.ts';
import { type PacketHandler, QUEUE_SHARES } from './handler.ts';

/** Counts of a listener, without clients or questions. On the hot path: methods must neither throw nor wait. */
export interface TransportObserver {
  /** One reply left. @param rcode of the header, 4 bits @param seconds since the query; 0: from the packet cache */
  reply(transport: Transport, octets: number, rcode: number, seconds: number): void;
  /** An eviction also counts as a close. */
  connection(transport: Transport, event: ConnectionEvent): void;
  /** A message that got no reply, or a query over HTTP that got a 400. */
  malformed(transport: Transport): void;
  /** The rate limit dropped or truncated a reply over UDP. */
  limited(event: LimitedEvent): void;
  /** A query over UDP was dropped because the queue of misses was full. */
  missDropped(): void;
}

/** A port of 0 takes a free one. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly handler: PacketHandler;
  readonly clock: Clock;
  readonly observe: TransportObserver;
  /** Null: COOKIE options are ignored. */
  readonly cookies?: ServerCookies | null;
  /** Peers that must begin a connection or datagram with a PROXY header: the client that it names counts for limits and cookies. Null: none. */
  readonly proxies?: AddressSet | null;
  /** SO_REUSEPORT: threads share the port, and the kernel spreads clients over them. */
  readonly reusePort: boolean;
  /** An error that cost at most one packet or connection, for the log. Holds no client data. */
  readonly onFault: (fault: unknown) => void;
}

export interface Listener {
  readonly transport: Transport;
  readonly address: { readonly host: string; readonly port: number };
  /** Stops accepting, answers queries in flight, closes after `graceMs` at the latest. A second call waits for the first. */
  close(graceMs: number): Promise<void>;
}

/** The response code in a reply's header (RFC 1035 §4.1.1). */
export function headerRcode(reply: Uint8Array): number {
  return reply[3]! & 0x0f;
}

/** Calls `work` once: signals repeat, and each calls `close`. */
export function once<A extends unknown[]>(
  work: (...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  let running: Promise<void> | null = null;
  return (...args) => (running ??= work(...args));
}

/** Octets that name a source: a whole IPv4 address, or an IPv6 /56. */
const SOURCE_OCTETS = 7;
const IPV4_OCTETS = 4;
const octets = new Uint8Array(16);
/** Random, so that an attacker cannot choose addresses that share with a victim. */
let start = randomUpTo(realRandom, 2 ** 32 - 1);

/** Threads of one server have one start, so that a source has the same share in all of them. */
export function startShares(random: number): void {
  start = random;
}

/** The queue share of an IPv4 address or IPv6 /56. The query path sees this number and no address. */
export function queueShare(address: PeerAddress): number {
  const length = readAddress(address, octets) === IPV4_OCTETS ? IPV4_OCTETS : SOURCE_OCTETS;
  let hash = start;
  for (let i = 0; i < length; i++) hash = fnvStep(hash, octets[i]!);
  return fnvEnd(hash) % QUEUE_SHARES;
}
