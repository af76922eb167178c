import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { ask, type ClientTransport } from '../../src/process/dns-client.ts';
import { RRTYPE, rcodeName } from '../../src/protocol/dns/codes.ts';
import { nameFromText } from '../../src/protocol/dns/name.ts';
import { txtValue } from '../../src/protocol/dns/rdata/rdata.ts';
import { envelopeText } from '../support/envelope-text.ts';
import type { Uqrp } from '../support/server-process.ts';

export interface Answer {
  readonly rcode: string;
  /** Decoded payload of the answer's envelope as text, or null. */
  readonly payload: string | null;
  readonly ttl: number | null;
}

/** Asks a running server for a TXT record below `uqrp.net`. */
export async function read(server: Uqrp, name: string, transport: ClientTransport = 'udp'): Promise<Answer> {
  const reply = await ask(nameFromText(`${name}.uqrp.net`)!, RRTYPE.TXT, {
    server: {
      host: transport === 'doh' || transport === 'dot' ? 'localhost' : '127.0.0.1',
      port: { udp: server.ports.dns, tcp: server.ports.dns, dot: server.ports.dot, doh: server.ports.doh }[
        transport
      ],
      ca: certificate(server),
    },
    transport,
    deadlineMs: 5000,
  });
  const answer = reply.answer[0];
  const text = answer === undefined ? null : Buffer.from(txtValue(answer.rdata)!).toString('latin1');
  return {
    rcode: rcodeName(reply.rcode),
    payload: text === null ? null : envelopeText(text),
    ttl: answer?.ttl ?? null,
  };
}

export function certificate(server: Uqrp): string {
  return readFileSync(join(server.dataDir, 'tls', 'cert.pem'), 'utf8');
}

/** GET over HTTPS with the server's own certificate as the only trusted one. */
export function getHttps(
  server: Uqrp,
  path: string,
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }> {
  return new Promise((resolve, reject) => {
    request({ host: 'localhost', port: server.ports.doh, path, ca: certificate(server) }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    })
      .on('error', reject)
      .end();
  });
}

/** Far more than a busy machine needs: it bounds a test that hangs, and checks no time. */
const PATIENCE_MS = 60_000;

/** Repeats a check until it holds. */
export async function eventually(check: () => Promise<boolean>, withinMs = PATIENCE_MS): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** For what has no end of its own, such as code that runs in a page. @throws Error that names what did not come */
export async function inTime<T>(what: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${what}: not within ${PATIENCE_MS} ms`)),
    PATIENCE_MS,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
