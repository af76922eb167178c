import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HttpWork } from '../base/lifecycle/http-work.ts';
import { createPlaces, type Place } from '../base/lifecycle/places.ts';
import { LIMITS } from '../base/limits.ts';
import { networksOf } from '../base/network/address-key.ts';

interface ConnectionOptions {
  readonly clock: () => number;
  /** The client of a request; null: it is the peer of the connection. */
  readonly forwarded: (request: IncomingMessage) => string | undefined | null;
}

interface Connection {
  readonly place: Place;
  readonly work: HttpWork;
}

/**
 * Gives each connection of the API a place. When all are taken, the network with the most connections gives way, first the connection that
 * was without a whole request for longest. No network has a limit of its own: a large one may be an office or a proxy. Connections of a
 * trusted proxy count, while they have a request, for the client that asks.
 * Call it after the server has its listeners: they hear of no request that must not be answered.
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

  /** @returns false when the request must not be answered */
  function begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = open.get(request.socket);
    if (connection === undefined || !connection.work.begin(request, response)) return false;
    const client = forwarded(request);
    if (client === null) return true;
    const { place } = connection;
    const proxy = networksOf(request.socket.remoteAddress);
    place.rename(networksOf(client));
    response.once('close', () => place.rename(proxy));
    return true;
  }

  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (begin(request, response)) for (const listener of listeners) listener.call(server, request, response);
  });
}
