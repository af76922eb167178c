/**
 * Customers' endpoints, as a process of their own: one TLS server for every host name, which does what the first label of the
 * name says. Started by `fork`; tells its port, and what arrived when it is asked.
 *
 *   ok-N      204 at once          hang-N    never answers
 *   fail-N    500                  move-N    302 to another host
 */
import { createServer, type TLSSocket } from 'node:tls';

export interface Arrival {
  readonly host: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Milliseconds since the epoch, when the request was whole. */
  readonly at: number;
}

export type ToReceiver =
  | {
      readonly type: 'listen';
      readonly address: string;
      readonly port: number;
      readonly cert: string;
      readonly key: string;
    }
  | { readonly type: 'take' }
  | { readonly type: 'count' };

export type FromReceiver =
  | { readonly type: 'listening' }
  | { readonly type: 'arrivals'; readonly arrivals: readonly Arrival[] }
  | { readonly type: 'count'; readonly count: number };

const REPLIES: Readonly<Record<string, string | null>> = {
  ok: '204 No Content',
  fail: '500 Internal Server Error\r\nContent-Length: 0',
  move: '302 Found\r\nLocation: https://ok-0.hooks.example.com/\r\nContent-Length: 0',
  hang: null,
};

let arrivals: Arrival[] = [];
let count = 0;

process.on('message', (message: ToReceiver) => {
  if (message.type === 'listen') listen(message);
  else if (message.type === 'count') tell({ type: 'count', count });
  else {
    tell({ type: 'arrivals', arrivals });
    arrivals = [];
  }
});
process.once('disconnect', () => process.exit());

function listen({ address, port, cert, key }: Extract<ToReceiver, { type: 'listen' }>): void {
  const server = createServer({ cert, key, ALPNProtocols: ['http/1.1'] }, serve);
  server.on('tlsClientError', () => {});
  server.listen({ host: address, port, backlog: 1024 }, () => tell({ type: 'listening' }));
}

function serve(socket: TLSSocket): void {
  let octets: Buffer = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    octets = octets.length === 0 ? chunk : Buffer.concat([octets, chunk]);
    const arrival = parse(octets);
    if (arrival === null) return;
    count++;
    arrivals.push(arrival);
    octets = Buffer.alloc(0);
    const reply = REPLIES[arrival.host.split('-', 1)[0] ?? ''] ?? null;
    if (reply !== null) socket.end(`HTTP/1.1 ${reply}\r\nConnection: close\r\n\r\n`);
  });
}

/** A request with a Content-Length once it is whole, or null. */
function parse(octets: Buffer): Arrival | null {
  const end = octets.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [start = '', ...lines] = octets.toString('latin1', 0, end).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const body = octets.subarray(end + 4);
  if (body.length < Number(headers['content-length'] ?? 0)) return null;
  const [, path = ''] = start.split(' ');
  return { host: headers.host ?? '', path, headers, body: body.toString(), at: Date.now() };
}

function tell(message: FromReceiver): void {
  process.send?.(message);
}
