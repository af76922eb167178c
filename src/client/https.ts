import { request } from 'node:https';
import { isIPv6 } from 'node:net';
import type { Server } from './server.ts';

/** One query over HTTPS, by POST so that the name stays out of URLs and their logs (RFC 8484 §4.1). */
export function exchangeHttps(query: Uint8Array, server: Server, deadlineMs: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const { host, port, ca } = server;
    const outgoing = request(
      {
        host,
        port,
        method: 'POST',
        path: '/dns-query',
        signal: AbortSignal.timeout(deadlineMs),
        ...(ca === null ? {} : { ca }),
        headers: {
          host: `${isIPv6(host) ? `[${host}]` : host}:${port}`,
          'content-type': 'application/dns-message',
          accept: 'application/dns-message',
          'content-length': query.length,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.once('error', reject);
        incoming.once('end', () => {
          if (incoming.statusCode === 200) resolve(Buffer.concat(chunks));
          else reject(new Error(`HTTP status ${incoming.statusCode}`));
        });
      },
    );
    outgoing.once('error', reject);
    outgoing.end(query);
  });
}
