import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { makeResolve } from '../../../../src/outbound/connection.ts';
import { createOutboundClient } from '../../../../src/outbound/outbound-client.ts';
import { operatorOrigins } from '../../../../src/outbound/target.ts';
import { makeProviderClient, type ProviderClient } from '../../../../src/services/providers/client.ts';
import { makeFeeds } from '../../../../src/services/providers/feeds.ts';
import type { Endpoints, SourceName } from '../../../../src/services/providers/source.ts';
import {
  connectWorker,
  openWorkerProviders,
  type Providers,
} from '../../../../src/services/providers/worker.ts';

/** A recorded response. */
export function fixture(name: string): string {
  return readFileSync(new URL(`../../../fixtures/providers/${name}`, import.meta.url), 'utf8');
}

export interface Hit {
  readonly source: SourceName;
  /** Path and query behind the provider's base. */
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** All providers on one local server, each below `/<its name>`, with a provider client and a worker's side between them and a test. */
export interface Rig {
  readonly client: ProviderClient;
  readonly providers: Providers;
  /** What each provider answers from now on; one without an entry fails with 503. */
  readonly replies: Map<SourceName, RequestListener>;
  readonly hits: Hit[];
  /** The clock of the provider client and its sources. */
  now: number;
  close(): void;
}

export interface RigOptions {
  readonly patienceMs?: number;
  readonly deadlineMs?: number;
  /** Bases in place of those of the local server. */
  readonly endpoints?: Partial<Endpoints>;
}

const KEY = 'hush-hush';
const START = Date.UTC(2026, 0, 1);

export async function openRig(options: RigOptions = {}): Promise<Rig> {
  const replies = new Map<SourceName, RequestListener>();
  const hits: Hit[] = [];
  const server = createServer((request, response) => {
    const [, source = '', ...rest] = (request.url ?? '').split('/');
    hits.push({ source: source as SourceName, path: `/${rest.join('/')}`, headers: request.headers });
    const reply = replies.get(source as SourceName);
    if (reply === undefined) response.writeHead(503).end();
    else reply(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const base = (name: SourceName): string => `${origin}/${name}`;
  const endpoints: Endpoints = {
    openmeteo: base('openmeteo'),
    metno: base('metno'),
    frankfurter: base('frankfurter'),
    ecb: base('ecb'),
    coinbase: base('coinbase'),
    kraken: base('kraken'),
    twelvedata: { base: base('twelvedata'), key: KEY },
    finnhub: { base: base('finnhub'), key: KEY },
    ...options.endpoints,
  };
  const outbound = createOutboundClient({
    policy: operatorOrigins([origin]),
    // Nobody answers there: every name is one that cannot be resolved.
    resolve: makeResolve(['127.0.0.1:1']),
    deadlineMs: options.deadlineMs ?? 10_000,
  });
  const rig = { now: START };
  const client = makeProviderClient({
    feeds: makeFeeds(endpoints, { outbound, agent: 'uqrp (test)' }),
    clock: () => rig.now,
  });
  const port: MessagePort = connectWorker(client);
  const { patienceMs = 5000 } = options;
  const providers = openWorkerProviders({ port, offered: client.offered, shareNow: () => 0, patienceMs });
  return Object.assign(rig, {
    client,
    providers,
    replies,
    hits,
    close() {
      port.close();
      server.closeAllConnections();
      server.close();
    },
  });
}

/** A whole response. */
export function sends(
  body: string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): RequestListener {
  return (_request, response) => response.writeHead(status, headers).end(body);
}

/** Ways in which a provider may be of no use, each by its name. */
export const FAULTS: Readonly<Record<string, RequestListener>> = {
  'status 400': sends('{"error":true,"reason":"bad request"}', 400),
  'status 401': sends('{"message":"no"}', 401),
  'status 403': sends('Forbidden', 403),
  'status 500': sends('oops', 500),
  'status 503': sends('', 503, { 'retry-after': '5' }),
  'a redirect': sends('', 302, { location: '/openmeteo' }),
  'a hang-up': (request) => request.socket.destroy(),
  'too much': (_request, response) => response.end(`{"a":"${'x'.repeat(300_000)}"}`),
  'no JSON': sends('<html>maintenance</html>'),
  nothing: sends(''),
  'other JSON': sends('{"result":null,"error":[],"v":1}'),
  'half a response': (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('{"current":', () => response.destroy());
  },
  'a compressed response': sends('x', 200, { 'content-encoding': 'gzip' }),
};

/** And those that only the deadline ends. */
export const ENDLESS: Readonly<Record<string, RequestListener>> = {
  silence: () => {},
  'a slow drip': (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 10);
    response.on('close', () => clearInterval(timer));
  },
};
