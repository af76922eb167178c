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
  /** What a benchmark wants to know, at a tenth of the cost. */
  | { readonly type: 'times' }
  | { readonly type: 'count' };

export type FromReceiver =
  | { readonly type: 'listening' }
  | { readonly type: 'arrivals'; readonly arrivals: readonly Arrival[] }
  | { readonly type: 'times'; readonly times: Float64Array }
  | { readonly type: 'count'; readonly count: number };

const REPLIES: Readonly<Record<string, string | null>> = {
  ok: '204 No Content',
  fail: '500 Internal Server Error\r\nContent-Length: 0',
  move: '302 Found\r\nLocation: https://ok-0.hooks.example.com/\r\nContent-Length: 0',
  hang: null,
};

let arrivals: Arrival[] = [];
let count = 0;
/** Of each arrival: when it was whole, and how many milliseconds after its event. Only after the first request for it. */
let times: number[] = [];
let isTiming = false;

process.on('message', (message: ToReceiver) => {
  if (message.type === 'listen') listen(message);
  else if (message.type === 'count') tell({ type: 'count', count });
  else if (message.type === 'times') {
    tell({ type: 'times', times: Float64Array.from(times) });
    isTiming = true;
    times = [];
  } else {
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
    const host = isTiming ? note(octets) : keep(octets);
    if (host === null) return;
    count++;
    octets = Buffer.alloc(0);
    const reply = REPLIES[host.split('-', 1)[0] ?? ''] ?? null;
    if (reply !== null) socket.end(`HTTP/1.1 ${reply}\r\nConnection: close\r\n\r\n`);
  });
}

/** @returns the host of a request that is whole */
function keep(octets: Buffer): string | null {
  const arrival = parse(octets);
  if (arrival !== null) arrivals.push(arrival);
  return arrival?.host ?? null;
}

const HOST = Buffer.from('\r\nHost: ');
const CREATED = Buffer.from('"created_at":"');
const TIME_OCTETS = '2026-01-01T00:00:00.000Z'.length;

/** The same, of requests that come in one piece from our own server. */
function note(octets: Buffer): string | null {
  const at = octets.indexOf(CREATED) + CREATED.length;
  const from = octets.indexOf(HOST) + HOST.length;
  const host = octets.toString('latin1', from, octets.indexOf('\r\n', from));
  const now = Date.now();
  if (host.startsWith('ok-'))
    times.push(now, now - Date.parse(octets.toString('latin1', at, at + TIME_OCTETS)));
  return host;
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
