import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeSelfSigned } from '../../../../src/base/certificates.ts';

/** One request that an endpoint got. */
export interface Received {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A customer's server on this machine, with a certificate of its own. */
export interface Endpoint {
  /** `https://hook.example.com:port` */
  readonly origin: string;
  readonly port: number;
  /** PEM. */
  readonly cert: string;
  readonly received: readonly Received[];
  close(): Promise<void>;
}

export type Answer = (received: Received, response: ServerResponse) => void;

/** @param answer to each request, once its body is there */
export async function openEndpoint(answer: Answer): Promise<Endpoint> {
  const tls = makeSelfSigned({ hosts: ['hook.example.com'], now: Date.now() });
  const received: Received[] = [];
  const server: Server = createServer(tls, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', method = '', headers } = request;
      const one = { path, method, headers, body: Buffer.concat(chunks) };
      received.push(one);
      answer(one, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://hook.example.com:${port}`,
    port,
    cert: tls.cert,
    received,
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
