import type { Clock } from '../../../core/clock.ts';
import type { ConnectionEvent, LimitedEvent, Transport } from '../../../core/transport.ts';
import type { ServerCookies } from '../edns/cookies.ts';
import type { PacketHandler } from './handler.ts';

/**
 * What a listener lets the outside know: counts, and nothing that could name a client or a question. Its methods run on
 * the hot path and must neither throw nor wait.
 */
export interface TransportObserver {
  /**
   * One reply left.
   *
   * @param octets length of the DNS message
   * @param rcode the four bits of the header (the upper eight live in the OPT record)
   * @param seconds from the query's arrival, 0 for one answered from the packet cache
   */
  reply(transport: Transport, octets: number, rcode: number, seconds: number): void;
  /** An evicted connection is closed too, and both are told. */
  connection(transport: Transport, event: ConnectionEvent): void;
  /** Octets that got no reply, or a query over HTTP that got a 400. */
  malformed(transport: Transport): void;
  /** The rate limit kept a reply over UDP back, or cut it down. */
  limited(event: LimitedEvent): void;
  /** A query over UDP that the packet cache does not answer was dropped: too many of them waited. */
  missDropped(): void;
}

/** What every listener is given. A port of 0 takes a free one. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly handler: PacketHandler;
  readonly clock: Clock;
  readonly observe: TransportObserver;
  /** Without them COOKIE options are ignored. */
  readonly cookies?: ServerCookies | null;
  /** Several threads listen on one port, and the kernel spreads the clients over them (SO_REUSEPORT). */
  readonly reusePort: boolean;
  /** An error that cost no more than one packet or connection; for a log. Never called with anything of a client's. */
  readonly onFault: (fault: unknown) => void;
}

export interface Listener {
  readonly transport: Transport;
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Stops accepting, answers what is in flight, closes. After `graceMs` milliseconds it closes regardless.
   * A second call waits for the first.
   */
  close(graceMs: number): Promise<void>;
}

/** The response code in the header of a reply (RFC 1035 §4.1.1). */
export function headerRcode(reply: Uint8Array): number {
  return reply[3]! & 0x0f;
}

/** One call of `work`, however often it is asked for: `close` is called by signals, which repeat. */
export function once<A extends unknown[]>(
  work: (...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  let running: Promise<void> | null = null;
  return (...args) => (running ??= work(...args));
}
