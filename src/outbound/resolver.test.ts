import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { makeResolve } from './connection.ts';

describe('resolution', () => {
  it('knows localhost by itself', async () => {
    const resolve = makeResolve(['192.0.2.1']);
    const { signal } = new AbortController();
    for (const name of ['localhost', 'LOCALHOST.', 'a.localhost']) {
      assert.deepEqual(await resolve(name, signal), ['127.0.0.1', '::1'], name);
    }
  });

  it('asks the configured name server for A and AAAA, and gives nothing when it fails', async () => {
    const socket = createSocket('udp4');
    const asked = new Set<number>();
    socket.on('message', (query, peer) => {
      const type = query.readUInt16BE(query.indexOf(0, 12) + 1);
      asked.add(type);
      socket.send(dnsReply(query, type), peer.port, peer.address);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const resolve = makeResolve([`127.0.0.1:${socket.address().port}`]);
    try {
      const { signal } = new AbortController();
      assert.deepEqual(await resolve('host.test', signal), ['192.0.2.7', '2001:db8::7']);
      assert.deepEqual(asked, new Set([1, 28]));
      assert.deepEqual(await resolve('fail.test', signal), []);
      assert.deepEqual(await resolve('not a name', signal), []);
    } finally {
      socket.close();
    }
  });

  it('asks from another port each time', async () => {
    const ports = new Set<number>();
    const socket = createSocket('udp4');
    socket.on('message', (query, peer) => {
      ports.add(peer.port);
      socket.send(dnsReply(query, query.readUInt16BE(query.indexOf(0, 12) + 1)), peer.port, peer.address);
    });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const resolve = makeResolve([`127.0.0.1:${socket.address().port}`]);
    const { signal } = new AbortController();
    for (let i = 0; i < 20; i++) await resolve('host.test', signal);
    socket.close();
    assert.ok(ports.size >= 18, `${ports.size} ports`);
  });

  it('gives up when its caller does', async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.1');
    await once(silent, 'listening');
    try {
      const controller = new AbortController();
      const pending = makeResolve([`127.0.0.1:${silent.address().port}`])('host.test', controller.signal);
      controller.abort();
      assert.deepEqual(await pending, []);
    } finally {
      silent.close();
    }
  });
});

/** One answer for A and AAAA; SERVFAIL for names that begin with `fail`. */
function dnsReply(query: Buffer, type: number): Buffer {
  const questionEnd = query.indexOf(0, 12) + 5;
  const isFailure = query.toString('latin1', 13, 17) === 'fail';
  const head = Buffer.from(query.subarray(0, questionEnd));
  head.writeUInt16BE(isFailure ? 0x8182 : 0x8180, 2);
  head.writeUInt16BE(isFailure ? 0 : 1, 6);
  head.writeUInt32BE(0, 8);
  if (isFailure) return head;
  const address = type === 1 ? 'c0000207' : '20010db8000000000000000000000007';
  const length = (address.length / 2).toString(16).padStart(4, '0');
  const fixed = `c00c${type.toString(16).padStart(4, '0')}00010000003c${length}`;
  return Buffer.concat([head, Buffer.from(fixed + address, 'hex')]);
}
