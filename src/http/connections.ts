import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { HttpWork } from '../base/lifecycle/http.ts';
import { createPlaces, type SharedPlace } from '../base/lifecycle/places.ts';
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

interface Connection {
  readonly place: SharedPlace;
  readonly work: HttpWork;
}

/**
 * Gives each connection of the API a place. When all are taken, the network with the most connections gives way, first the connection that
 * was without a whole request for longest. No network has a limit of its own: a large one may be an office or a proxy. Connections of a
 * trusted proxy count, while they have a request, for the client that asks.
 * Call it after the server has its listeners: they hear of a request when it is to be answered.
 */
export function shareConnections(server: Server, { clock, forwarded }: ConnectionOptions): void {
  const places = createPlaces({ all: LIMITS.restConnections });
  const open = new Map<Socket, Connection>();

  server.on('connection', (socket: Socket) => {
    const work = new HttpWork(clock, LIMITS.httpPipeline);
    const place = places.enter(networksOf(socket.remoteAddress), {
      since: () => work.since(),
      giveWay: () => socket.destroy(),
    });
    if (place === null) {
      socket.destroy();
      return;
    }
    open.set(socket, { place, work });
    socket.once('close', () => {
      open.delete(socket);
      place.leave();
    });
  });

  function countForClient({ place }: Connection, request: IncomingMessage, response: ServerResponse): void {
    const client = forwarded(request);
    if (client === null) return;
    const proxy = networksOf(request.socket.remoteAddress);
    place.rename(networksOf(client));
    response.once('close', () => place.rename(proxy));
  }

  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = open.get(request.socket);
    connection?.work.begin(request, response, () => {
      countForClient(connection, request, response);
      for (const listener of listeners) listener.call(server, request, response);
    });
  });
}
