/**
 * The CPU of one delivery attempt over TLS with resumed sessions: a connection, a POST of 1 KiB, the head of a 204.
 * Compares the outbound client (`node:http`) with undici over the same pinned connection, where a copy of undici is
 * given (ADR 0026).
 *
 * Usage: node bench/outbound-client.ts [deliveries] [rounds] [path of undici's index.js]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve as resolvePath } from 'node:path';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createTlsSessions, type PinnedResult, pinnedRequest } from '../src/outbound/connection.ts';
import { createOutboundClient, type OutboundClientOptions } from '../src/outbound/outbound-client.ts';
import type { OutboundFault } from '../src/outbound/request.ts';
import { HOST, ROOT_PEM, startTls } from '../test/support/outbound/peer.ts';
import { median, print, row } from './lib/figures.ts';

const SERVER = 'serve';
const UNDER_WAY = 8;
const BODY = Buffer.alloc(1024, 'x');
const HEADERS = {
  'content-type': 'application/json',
  'user-agent': 'uqrp-webhooks/1',
  'x-service-event': 'record.upserted',
  'x-service-delivery': '01980000-0000-7000-8000-000000000001',
  'x-service-signature': `t=1750000000,v1=${'0'.repeat(64)}`,
};

type Dial = NonNullable<OutboundClientOptions['dial']>;
interface Way {
  readonly name: string;
  readonly dial: Dial;
}

/** Answers 204 after the body. It runs in a child process, so that its CPU does not count. */
async function serve(): Promise<void> {
  const peer = await startTls(({ secure }) => {
    let octets = 0;
    secure.on('data', (chunk: Buffer) => {
      octets += chunk.length;
      if (octets > BODY.length && chunk.at(-1) === BODY.at(-1)) {
        secure.end(
          'HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: x\r\nConnection: close\r\n\r\n',
        );
      }
    });
  });
  process.send?.({ port: peer.port, ca: ROOT_PEM });
  process.once('disconnect', () => process.exit(0));
}

interface UndiciClient {
  request(
    options: object,
  ): Promise<{ readonly statusCode: number; readonly body: { dump(): Promise<void> } }>;
  destroy(): Promise<void>;
}
type UndiciModule = { readonly Client: new (origin: string, options: object) => UndiciClient };

/** undici with our client's savings: one TLS context, resumed sessions, no object of the certificate chain. */
function undiciDial({ Client }: UndiciModule): Dial {
  return async ({ url, method, headers, body }, { address, secureContext, sessions, signal }) => {
    const peer = `${url.host} ${address}`;
    const client = new Client(url.origin, {
      maxHeaderSize: 16_384,
      pipelining: 1,
      connect: (_options: object, callback: (error: Error | null, socket: unknown) => void) => {
        const session = sessions?.get(peer);
        const socket: TLSSocket = tlsConnect({
          host: address,
          port: Number(url.port),
          secureContext,
          servername: url.hostname,
          ALPNProtocols: ['http/1.1'],
          ...(session === undefined ? {} : { session }),
          checkServerIdentity: () =>
            socket.getPeerX509Certificate()?.checkHost(url.hostname) === undefined
              ? new Error('host')
              : undefined,
        });
        Object.defineProperty(socket, 'getPeerCertificate', { value: () => ({}) });
        socket.setNoDelay(true);
        socket.on('session', (ticket: Buffer) => {
          if (!socket.isSessionReused()) sessions?.keep(peer, ticket);
        });
        socket.once('secureConnect', () => callback(null, socket));
        socket.once('error', (error) => callback(error, null));
        return socket;
      },
    });
    try {
      const answer = await client.request({ path: url.pathname, method, headers, body, signal });
      await answer.body.dump();
      const { statusCode: status } = answer;
      return { result: { kind: 'response', status, headers: {}, body: Buffer.alloc(0) }, wasConnected: true };
    } catch {
      const fault: OutboundFault = 'connection_failed';
      return { result: { kind: 'failed', fault }, wasConnected: true } satisfies PinnedResult;
    } finally {
      void client.destroy().catch(() => {});
    }
  };
}

/** @returns CPU of one delivery in this process, user and system, microseconds */
async function measure({ dial }: Way, port: number, ca: string, deliveries: number): Promise<number> {
  const client = createOutboundClient({
    policy: { allows: () => true, admits: () => true },
    resolve: async () => ['127.0.0.1'],
    deadlineMs: 10_000,
    ca,
    sessions: createTlsSessions(),
    dial,
  });
  const url = new URL(`https://${HOST}:${port}/hook`);
  const deliver = async (): Promise<void> => {
    const result = await client({ method: 'POST', url, headers: HEADERS, body: BODY, maxBytes: 0 });
    if (result.kind !== 'response' || result.status !== 204) throw new Error(JSON.stringify(result));
  };
  for (let warm = 0; warm < deliveries / 10; warm++) await deliver();
  let left = deliveries;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: UNDER_WAY }, async () => {
      while (left-- > 0) await deliver();
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / deliveries;
}

async function main(deliveries: number, rounds: number, undici: string | undefined): Promise<void> {
  const ways: Way[] = [{ name: 'node:http', dial: pinnedRequest }];
  if (undici !== undefined) {
    const module = (await import(pathToFileURL(resolvePath(undici)).href)) as { default: UndiciModule };
    ways.push({ name: 'undici', dial: undiciDial(module.default) });
  }
  const child = fork(fileURLToPath(import.meta.url), [SERVER]);
  const [{ port, ca }] = (await once(child, 'message')) as [{ port: number; ca: string }];
  const figures = new Map<string, number[]>(ways.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
      figures.get(way.name)?.push(await measure(way, port, ca, deliveries));
    }
  }
  child.disconnect();
  const first = figures.get(ways[0]?.name ?? '') ?? [];
  for (const [name, all] of figures) {
    const range = `${Math.round(Math.min(...all))} to ${Math.round(Math.max(...all))}`;
    print(
      row([
        name,
        `${Math.round(median(all))} us`,
        range,
        median(all.map((one, round) => one / (first[round] ?? one))).toFixed(2),
      ]),
    );
  }
}

const [, , first = '1000', rounds = '7', undici] = process.argv;
if (first === SERVER) await serve();
else await main(Number(first), Number(rounds), undici);
