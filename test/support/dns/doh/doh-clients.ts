/** A DoH listener with fakes behind it, and a client of each version of HTTP that trusts it. */

import * as http2 from 'node:http2';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { Readable } from 'node:stream';
import { makeSelfSigned } from '../../../../src/base/certificates.ts';
import { type DohOptions, listenDoh } from '../../../../src/dns/doh/listener.ts';
import type { JsonApi } from '../../../../src/dns/shared/handler.ts';
import type { TlsListener } from '../../../../src/dns/shared/tls.ts';
import { labelOf, query, type Setting, setting } from '../fakes.ts';

export const tls = makeSelfSigned({ hosts: [], now: Date.now() });
export const DNS = 'application/dns-message';

/** Asks for the name, and says in JSON which label came back. */
const json: JsonApi = async (params, ask) => {
  const name = params.get('name');
  if (name === null || name === '') return { kind: 'refused', error: 'Parameter name is required' };
  const reply = await ask(query(0, name));
  if (params.get('ct') === DNS) return { kind: 'message', reply };
  if (reply === null || labelOf(reply).startsWith('odd')) return { kind: 'unreadable' };
  return { kind: 'document', document: { Status: reply[3], label: labelOf(reply) }, reply };
};

const schema: NonNullable<DohOptions['schema']> = async (q) =>
  q === null ? { status: 400, body: { error: 'q is required' } } : { status: 200, body: { title: q } };

export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array;
}

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: Buffer;
}

type Client = (ask: Ask) => Promise<Reply>;

export interface Scene {
  readonly options: Setting;
  readonly listener: TlsListener;
  readonly clients: Record<'h2' | 'http/1.1', Client>;
  readonly session: http2.ClientHttp2Session;
}

/** Runs a scenario with a listener and its clients; closes them at its end. */
export async function withDoh(
  extra: Partial<DohOptions>,
  scenario: (scene: Scene) => Promise<void>,
): Promise<void> {
  const options = setting();
  const listener = await listenDoh({ ...options, tls, json, schema, ...extra });
  const origin = `https://localhost:${listener.address.port}`;
  const session = http2.connect(origin, { ca: tls.cert });
  session.on('error', () => session.destroy());
  const agent = new Agent({ ca: tls.cert, keepAlive: true });
  try {
    await scenario({
      options,
      listener,
      session,
      clients: { h2: over2(session), 'http/1.1': over1(listener, agent) },
    });
  } finally {
    session.destroy();
    agent.destroy();
    await listener.close(0);
  }
}

function over1(listener: TlsListener, agent: Agent): Client {
  return ({ method = 'GET', path, headers = {}, body }) =>
    new Promise((resolve, reject) => {
      const target: RequestOptions = {
        host: 'localhost',
        port: listener.address.port,
        agent,
        method,
        path,
        headers,
      };
      const request = httpsRequest(target, (response) => {
        const { headers: received, statusCode } = response;
        gather(response).then(
          (octets) => resolve({ status: statusCode!, headers: received, body: octets }),
          reject,
        );
      });
      request.on('error', reject);
      request.end(body);
    });
}

function over2(session: http2.ClientHttp2Session): Client {
  return ({ method = 'GET', path, headers = {}, body }) =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':method': method, ':path': path, ...headers });
      stream.on('error', reject);
      stream.on('response', (received) => {
        gather(stream).then(
          (octets) => resolve({ status: received[':status']!, headers: received, body: octets }),
          reject,
        );
      });
      stream.end(body);
    });
}

/** By events: to read a stream of `node:http2` with `for await` fails once its last frame is there, read or not. */
export function gather(stream: Readable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.once('end', () => resolve(Buffer.concat(chunks)));
    stream.once('error', reject);
    stream.once('close', () => reject(new Error('closed before its end')));
  });
}

export function get(label: string): string {
  return `/dns-query?dns=${query(0, label).toString('base64url')}`;
}

export function post(label: string): Ask {
  return { method: 'POST', path: '/dns-query', headers: { 'content-type': DNS }, body: query(0, label) };
}
