import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { makeSelfSigned } from '../base/certificates.ts';
import { createTlsSessions } from './connection.ts';
import { createOutboundClient } from './outbound-client.ts';

const HOST = 'hook.example.com';
const good = makeSelfSigned({ hosts: [HOST], now: Date.now() });
const other = makeSelfSigned({ hosts: [HOST], now: Date.now() });

interface Served {
  readonly server: Server;
  /** Of each connection, whether its handshake was a short one. */
  readonly reused: boolean[];
}

async function serve(tls: { cert: string; key: string }, port = 0, address = '127.0.0.1'): Promise<Served> {
  const reused: boolean[] = [];
  const server = createServer(tls, (socket: TLSSocket) => {
    reused.push(socket.isSessionReused());
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
  });
  server.on('tlsClientError', () => {});
  server.listen(port, address);
  await once(server, 'listening');
  return { server, reused };
}

const portOf = ({ server }: Served): number => (server.address() as AddressInfo).port;

function clientTo(port: number, lifeMs?: number, address = () => '127.0.0.1'): () => Promise<unknown> {
  const client = createOutboundClient({
    policy: { allows: () => true, admits: () => true },
    resolve: async () => [address()],
    deadlineMs: 5000,
    ca: good.cert,
    sessions: createTlsSessions(lifeMs),
  });
  const url = new URL(`https://${HOST}:${port}/`);
  return async () => {
    const result = await client({ method: 'POST', url, headers: {}, maxBytes: 0 });
    return result.kind === 'failed' ? result.fault : result.status;
  };
}

describe('TLS sessions', () => {
  it('shorten the handshakes of new connections to a host that was checked', async () => {
    const served = await serve(good);
    const ask = clientTo(portOf(served));
    for (let i = 0; i < 3; i++) assert.equal(await ask(), 204);
    served.server.close();
    assert.deepEqual(served.reused, [false, true, true]);
  });

  it('are used only at the address where the certificate was checked', async () => {
    const served = await serve(good, 0, '0.0.0.0');
    const addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.1', '127.0.0.2'];
    const ask = clientTo(portOf(served), undefined, () => addresses.shift() ?? '');
    for (let i = 0; i < 4; i++) assert.equal(await ask(), 204);
    served.server.close();
    assert.deepEqual(served.reused, [false, false, true, true]);
  });

  it('end after their time, counted from the full check', async () => {
    const served = await serve(good);
    const ask = clientTo(portOf(served), 0);
    for (let i = 0; i < 3; i++) assert.equal(await ask(), 204);
    served.server.close();
    assert.deepEqual(served.reused, [false, false, false]);
  });

  it('are refused by another server at the address, and then removed', async () => {
    const served = await serve(good);
    const port = portOf(served);
    const ask = clientTo(port);
    assert.equal(await ask(), 204);
    served.server.close();
    const impostor = await serve(other, port);
    assert.equal(await ask(), 'tls_error');
    impostor.server.close();
    const back = await serve(good, port);
    assert.equal(await ask(), 204);
    back.server.close();
    assert.deepEqual(back.reused, [false]);
  });

  it('are few', () => {
    const sessions = createTlsSessions(1000, 2);
    for (const host of ['a', 'b', 'c']) sessions.keep(host, Buffer.from(host));
    assert.equal(sessions.get('a'), undefined);
    assert.deepEqual([sessions.get('b'), sessions.get('c')].map(String), ['b', 'c']);
  });
});
