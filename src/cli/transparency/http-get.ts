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
}

/**
 * Reads what anyone may read, such as a tile. Redirects are not followed.
 * @param max octets of the body that are read
 * @throws InputError when no whole answer comes in time, or a longer one
 */
export function httpGet(url: string, max: number, stop?: AbortSignal): Promise<HttpAnswer> {
  const isHttps = url.startsWith('https:');
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const signal = stop === undefined ? deadline : AbortSignal.any([stop, deadline]);
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      const late = deadline.aborted ? `within ${DEADLINE_MS / 1000} s` : undefined;
      reject(new InputError(`no answer from ${url}: ${late ?? error.code ?? error.message}`));
    };
    const send = isHttps ? requestHttps : requestHttp;
    const outgoing = send(
      url,
      { agent: isHttps ? AGENTS.https : AGENTS.http, headers: { 'user-agent': 'uqrp' }, signal },
      (incoming) => void readAnswer(incoming, max).then(resolve, fail),
    );
    outgoing.once('error', fail);
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
  };
}
