import { request } from 'node:https';
import { Readable } from 'node:stream';

/** A `fetch` that trusts one certificate: Node's own takes trusted certificates only from the environment. */
export function tlsFetch(ca: string): (url: string, init: RequestInit) => Promise<Response> {
  return (url, init) =>
    new Promise((resolve, reject) => {
      const { method = 'GET', body, signal } = init;
      const headers = Object.fromEntries(new Headers(init.headers));
      const outgoing = request(url, { method, headers, ca, agent: false, ...(signal ? { signal } : {}) });
      outgoing.once('error', reject);
      outgoing.once('response', (incoming) => {
        const stream = Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
        resolve(new Response(stream, { status: incoming.statusCode ?? 500 }));
      });
      outgoing.end(body instanceof Uint8Array ? body : undefined);
    });
}
