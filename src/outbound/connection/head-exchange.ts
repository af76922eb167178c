import type { TLSSocket } from 'node:tls';
import type { OutboundFault, OutboundRequest, OutboundResponse } from '../request.ts';
import { readHead } from './response-head.ts';

/** Interim responses (100, 102, 103) before the one that counts. Each may be as large as a head. */
const INTERIM_MAX = 16;

type Settle = (result: OutboundResponse | OutboundFault) => void;

const NO_BODY = Buffer.alloc(0);
/** What may stand in a field's value, or in a request target (RFC 9110 §5.5, RFC 9112 §3.2). */
const VALUE = /^[\x20-\x7e]*$/;
const TARGET = /^\/[\x21-\x7e]*$/;

/**
 * A request over a connection of its own of whose response only the head is wanted: written whole, in one piece, and over with the
 * head. Node's client would do as much, at twice the cost.
 *
 * @throws when a header or the path cannot be sent
 */
export function requestOctets({ url, method, headers, body }: OutboundRequest): Buffer {
  const path = url.pathname + url.search;
  if (!TARGET.test(path)) throw new TypeError('the path cannot be sent');
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${url.host}`];
  for (const [name, value] of Object.entries(headers)) {
    if (!VALUE.test(value)) throw new TypeError('a header cannot be sent');
    lines.push(`${shownName(name)}: ${value}`);
  }
  if (body !== undefined) lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(
    `${lines.join('\r\n')}\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n`,
    'latin1',
  );
  return body === undefined ? head : Buffer.concat([head, body]);
}

const shownNames = new Map<string, string>();

/** `X-Service-Event` for `x-service-event`: names mean the same in any case, but some receivers were never told. */
function shownName(name: string): string {
  let shown = shownNames.get(name);
  if (shown === undefined) {
    shown = name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
    // Callers have a handful of names; should one make them up, nothing is remembered.
    if (shownNames.size < 64) shownNames.set(name, shown);
  }
  return shown;
}

/** Sends the request over a socket that is secured, and settles with what comes first: a head, nonsense or the end. */
export function exchangeHeads(socket: TLSSocket, request: Buffer, settle: Settle): void {
  let arrived: Buffer = NO_BODY;
  let interim = 0;
  socket.on('data', (chunk: Buffer) => {
    arrived = arrived.length === 0 ? chunk : Buffer.concat([arrived, chunk]);
    for (;;) {
      const head = readHead(arrived);
      if (head === null) return;
      if (head === 'malformed' || head.status === 101) return settle('connection_failed');
      if (head.status >= 200) {
        return settle({ kind: 'response', status: head.status, headers: head.headers, body: NO_BODY });
      }
      if (++interim > INTERIM_MAX) return settle('connection_failed');
      arrived = arrived.subarray(head.octets);
      if (arrived.length === 0) return;
    }
  });
  socket.write(request);
}
