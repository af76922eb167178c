import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { boundConnections } from '../base/lifecycle/http.ts';
import { LIMITS } from '../base/limits.ts';
import type { Clock } from '../base/time.ts';
import type { WitnessDatabase } from './database.ts';
import { addCheckpoint, type CosignReply, latestCheckpoint } from './witness.ts';

// No import: see src/base/lifecycle/README.md.
const { createServer } = process.getBuiltinModule('node:http');

/** Milliseconds: a client that sends or reads slowly does not keep its connection. */
const TIMES = {
  headersTimeout: LIMITS.witnessRequestMs,
  requestTimeout: LIMITS.witnessRequestMs,
  keepAliveTimeout: LIMITS.witnessRequestMs,
  connectionsCheckingInterval: 1000,
};

const CHECKPOINT_PATH = /^\/([0-9a-f]{64})\/checkpoint$/;
const NOT_FOUND: CosignReply = { status: 404, body: 'not found\n' };
const TOO_LONG: CosignReply = { status: 413, body: 'the body is too long\n' };
const FAILED: CosignReply = { status: 500, body: 'the witness failed, nothing was cosigned\n' };

interface WitnessServerOptions {
  readonly database: WitnessDatabase;
  readonly clock: Clock;
  /** What the database could not do, such as on a full disk. The request got 500. */
  readonly onError: (error: unknown) => void;
}

/** Not listening yet. */
export function createWitnessServer({ database, clock, onError }: WitnessServerOptions): Server {
  async function answer(request: IncomingMessage): Promise<CosignReply> {
    const { method, url = '' } = request;
    if (method === 'POST' && url === '/add-checkpoint') {
      const body = await readBody(request);
      // From here on without a pause: of two requests one has committed before the other is looked at.
      return body === null ? TOO_LONG : addCheckpoint(database, body, clock());
    }
    const hash = CHECKPOINT_PATH.exec(url)?.[1];
    return method === 'GET' && hash !== undefined ? latestCheckpoint(database, hash) : NOT_FOUND;
  }

  const server = createServer(TIMES, (request: IncomingMessage, response: ServerResponse) => {
    void answer(request)
      .catch((error: unknown) => {
        // The client that broke off gets no answer.
        if (request.complete) onError(error);
        return FAILED;
      })
      .then((reply) => send(request, response, reply));
  });
  boundConnections(server, {
    connections: LIMITS.witnessConnections,
    idleMs: LIMITS.witnessRequestMs,
    clock,
  });
  return server;
}

function send(request: IncomingMessage, response: ServerResponse, answer: CosignReply): void {
  const { status, type = 'text/plain; charset=utf-8', body } = answer;
  const headers = {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
  };
  // What is left of a body is not read: the connection ends.
  response.writeHead(status, request.complete ? headers : { ...headers, connection: 'close' }).end(body);
}

/** Null: it is longer than `LIMITS.witnessBody`. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let octets = 0;
  // Without the option a body that is too long would end the connection before its answer.
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    octets += part.length;
    if (octets > LIMITS.witnessBody) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
