import type { IncomingMessage, Server } from 'node:http';
import { isIP } from 'node:net';
import { placeConnections } from '../base/lifecycle/http.ts';
import { LIMITS } from '../base/limits.ts';
import { addressSet, networksOf } from '../base/network/address.ts';

const MAPPED_V4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** @param forwarded the `X-Forwarded-For` header; several are joined by commas */
export type ClientAddress = (peer: string | undefined, forwarded: string | undefined) => string | undefined;

/**
 * Behind trusted proxies: the right-most address of `X-Forwarded-For` that is not trusted, because a client can write what
 * is left of it. All trusted: the left-most. A header that does not parse up to that address is ignored: the peer counts.
 */
export function clientAddress(proxies: readonly string[]): ClientAddress {
  if (proxies.length === 0) return (peer) => peer;
  const isTrusted = addressSet(proxies);
  return (peer, forwarded) => {
    const direct = peer === undefined ? undefined : plain(peer);
    if (direct === undefined || forwarded === undefined || !isTrusted(direct)) return peer;
    let leftmost = direct;
    for (const entry of forwarded.split(',').reverse()) {
      const address = plain(withoutPort(entry.trim()));
      if (isIP(address) === 0) return direct;
      if (!isTrusted(address)) return address;
      leftmost = address;
    }
    return leftmost;
  };
}

/** IPv4-mapped to IPv4, and IPv6 without its zone index. */
function plain(address: string): string {
  return MAPPED_V4.exec(address)?.[1] ?? address.split('%', 1)[0]!;
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry)?.[1];
  return bracketed ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(entry)?.[1] ?? entry;
}

interface ConnectionOptions {
  readonly clock: () => number;
  /** The client of a request; null: it is the peer of the connection. */
  readonly forwarded: (request: IncomingMessage) => string | undefined | null;
}

/** Gives each connection of the API a place. Those of a trusted proxy count, while they have a request, for the client that asks. */
export function shareConnections(server: Server, { clock, forwarded }: ConnectionOptions): void {
  placeConnections(server, {
    connections: LIMITS.restConnections,
    clock,
    answering(place, request, response) {
      const client = forwarded(request);
      if (client === null) return;
      const proxy = networksOf(request.socket.remoteAddress);
      place.rename(networksOf(client));
      response.once('close', () => place.rename(proxy));
    },
  });
}
