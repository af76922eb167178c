import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Server } from './server.ts';

/** One query over TCP, with its two-octet length (RFC 1035 §4.2.2). */
export function exchangeTcp(query: Uint8Array, server: Server, deadlineMs: number): Promise<Uint8Array> {
  return exchange(connectTcp({ host: server.host, port: server.port }), 'connect', query, deadlineMs);
}

/** One query over TLS (RFC 7858). */
export function exchangeTls(query: Uint8Array, server: Server, deadlineMs: number): Promise<Uint8Array> {
  const { host, port, ca } = server;
  const socket = connectTls({ host, port, ALPNProtocols: ['dot'], ...(ca === null ? {} : { ca }) });
  return exchange(socket, 'secureConnect', query, deadlineMs);
}

function exchange(socket: Socket, ready: string, query: Uint8Array, deadlineMs: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let held = Buffer.alloc(0);
    const timer = setTimeout(
      () => socket.destroy(new DOMException('no reply over TCP in time', 'TimeoutError')),
      deadlineMs,
    );
    socket.once(ready, () => {
      const framed = Buffer.alloc(2 + query.length);
      framed.writeUInt16BE(query.length);
      framed.set(query, 2);
      socket.write(framed);
    });
    socket.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      if (held.length < 2 || held.length < 2 + held.readUInt16BE()) return;
      resolve(held.subarray(2, 2 + held.readUInt16BE()));
      socket.end();
    });
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection closed without a reply'));
    });
  });
}
