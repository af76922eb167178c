import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { InputError } from '../../base/errors.ts';

// No import: see src/base/lifecycle/README.md.
const { request: requestHttp } = process.getBuiltinModule('node:http');

const DEADLINE_MS = 30_000;

/** Connections stay open between the hundreds of tiles that one command reads, and do not keep the process alive. */
const AGENTS = {
  http: new HttpAgent({ keepAlive: true }),
  https: new HttpsAgent({ keepAlive: true }),
};

export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** The header `Link`, of listings. */
  readonly link: string | undefined;
  /** Of an answer that a cache kept: seconds (RFC 9111, 5.1). */
  readonly age: string | undefined;
}

/**
 * Reads what anyone may read, such as a tile. Redirects are not followed.
 * @param max octets of the body that are read
 * @throws InputError when no whole answer comes in time, or a longer one
 */
export async function httpGet(url: string, max: number, stop?: AbortSignal): Promise<HttpAnswer> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline]);
  try {
    return await exchange(url, max, signal);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = deadline.aborted ? `within ${DEADLINE_MS / 1000} s` : (code ?? message);
    throw new InputError(`no answer from ${url}: ${reason}`);
  }
}

function exchange(url: string, max: number, signal: AbortSignal): Promise<HttpAnswer> {
  const isHttps = url.startsWith('https:');
  const send = isHttps ? requestHttps : requestHttp;
  const agent = isHttps ? AGENTS.https : AGENTS.http;
  return new Promise((resolve, reject) => {
    const outgoing = send(
      url,
      { agent, headers: { 'user-agent': 'uqrp', 'cache-control': 'no-cache' }, signal },
      (incoming) => void readAnswer(incoming, max).then(resolve, reject),
    );
    outgoing.once('error', (error: NodeJS.ErrnoException) => {
      // The server closed the connection while nobody asked, and the question crossed with that.
      if (outgoing.reusedSocket && error.code === 'ECONNRESET') resolve(exchange(url, max, signal));
      else reject(error);
    });
    outgoing.end();
  });
}

async function readAnswer(incoming: IncomingMessage, max: number): Promise<HttpAnswer> {
  const parts: Buffer[] = [];
  let octets = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    octets += part.length;
    if (octets > max) throw new Error(`more than ${max} octets`);
    parts.push(part);
  }
  return {
    status: incoming.statusCode!,
    body: Buffer.concat(parts),
    link: incoming.headersDistinct.link?.join(', '),
    age: incoming.headers.age,
  };
}
