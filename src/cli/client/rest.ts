import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';

// No import: see `lifecycle/README.md`.
const { request: requestHttp } = process.getBuiltinModule('node:http');

export interface RestReply {
  readonly status: number;
  /** Seconds, as the server wrote them; null without the header. */
  readonly retryAfter: string | null;
  readonly body: string;
}

/** Answers to one write have less than 1 KiB. */
const REPLY_MAX = 65_536;

/**
 * Sends JSON with a credential. It follows no redirect, which could take the credential to another server.
 * @param url http or https
 * @throws Error when no whole reply comes before the deadline; its text holds neither the credential nor the body
 */
export function postJson(url: URL, token: string, value: object, deadlineMs: number): Promise<RestReply> {
  return new Promise((resolve, reject) => {
    const body = Buffer.from(JSON.stringify(value));
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const outgoing = request(
      url,
      {
        method: 'POST',
        signal: AbortSignal.timeout(deadlineMs),
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': body.length,
          accept: 'application/json',
        },
      },
      (incoming) => resolve(readReply(incoming)),
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

async function readReply(incoming: IncomingMessage): Promise<RestReply> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REPLY_MAX) throw new Error(`the reply has more than ${REPLY_MAX} octets`);
    chunks.push(chunk);
  }
  return {
    status: incoming.statusCode ?? 0,
    retryAfter: incoming.headers['retry-after'] ?? null,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}
