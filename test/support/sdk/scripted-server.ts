import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the server got it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Step = (response: ServerResponse, seen: Seen) => void;

/** An HTTP server that answers each request with the next step; with the last one when all are used. */
export interface ScriptedServer extends AsyncDisposable {
  readonly base: string;
  readonly seen: readonly Seen[];
}

export async function scripted(...steps: readonly Step[]): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void handle(request).then((one) => {
      seen.push(one);
      (steps[seen.length - 1] ?? steps.at(-1))?.(response, one);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function handle(request: IncomingMessage): Promise<Seen> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  return { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
}

export function reply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Step {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body === null ? undefined : JSON.stringify(body));
  };
}

/** Closes the connection without an answer. */
export const drop: Step = (response) => {
  response.socket?.destroy();
};

/** Never answers. */
export const hang: Step = () => undefined;
