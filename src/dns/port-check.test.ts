import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { findPortFault, findPortHolder, type PortUse, socketInodes } from './port-check.ts';

const use = (protocol: 'udp' | 'tcp', port: number, host = '127.0.0.1'): PortUse => ({
  variable: 'UQRP_DNS_PORT',
  host,
  port,
  protocol,
});

async function boundUdp(options: { reusePort: boolean }): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', ...options });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

describe('findPortFault', () => {
  for (const reusePort of [false, true]) {
    it(`finds a UDP port that is taken, ${reusePort ? 'also' : 'and'} by a socket ${reusePort ? 'that shares it' : 'of its own'}`, async () => {
      const socket = await boundUdp({ reusePort });
      const taken = use('udp', socket.address().port);
      try {
        assert.deepEqual(await findPortFault([use('udp', 0), taken]), { use: taken, code: 'EADDRINUSE' });
        assert.equal(findPortHolder('udp', taken.port), process.pid);
      } finally {
        socket.close();
      }
    });

    it(`finds a TCP port that is taken (reusePort ${reusePort})`, async () => {
      const server = createServer();
      server.listen({ port: 0, host: '127.0.0.1', reusePort });
      await once(server, 'listening');
      const taken = use('tcp', (server.address() as AddressInfo).port);
      try {
        assert.deepEqual(await findPortFault([taken]), { use: taken, code: 'EADDRINUSE' });
        assert.equal(findPortHolder('tcp', taken.port), process.pid);
      } finally {
        server.close();
      }
    });
  }

  it('leaves a free port free', async () => {
    const socket = await boundUdp({ reusePort: false });
    const { port } = socket.address();
    socket.close();
    await once(socket, 'close');
    const both = [use('udp', port), use('tcp', port)];
    assert.equal(await findPortFault(both), null);
    assert.equal(await findPortFault(both), null);
  });

  it('finds an address that this machine does not have', async () => {
    const fault = await findPortFault([use('tcp', 5300, '192.0.2.1')]);
    assert.equal(fault?.code, 'EADDRNOTAVAIL');
  });
});

describe('socketInodes', () => {
  const TCP = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:14B4 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0',
    '   1: 0100007F:14B4 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0',
    '   2: 0100007F:14B5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0',
  ].join('\n');

  it('takes the listening sockets of a TCP port, and every socket of a UDP port', () => {
    assert.deepEqual(socketInodes(TCP, 'tcp', 5300), ['111']);
    assert.deepEqual(socketInodes(TCP, 'udp', 5300), ['111', '222']);
    assert.deepEqual(socketInodes('', 'udp', 5300), []);
  });
});
