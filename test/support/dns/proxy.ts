/** A proxy that names its clients: an encoder of PROXY headers, written apart from the decoder, and a relay that sends them. */

import { connect, createServer, type Socket } from 'node:net';
import { parseAddress } from '../../../src/base/network/address.ts';
import { listening } from '../../../src/dns/stream/stream-server.ts';

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');

export interface HeaderParts {
  /** 0x21: version 2, PROXY; 0x20: LOCAL. */
  readonly command?: number;
  /** Address family and protocol: 0x11 is TCP over IPv4. */
  readonly family?: number;
  /** Addresses and ports. */
  readonly block?: Uint8Array;
  readonly tlvs?: Uint8Array;
  /** Octets that the header claims to have behind its first 16. */
  readonly length?: number;
}

export function headerOf({
  command = 0x21,
  family = 0x11,
  block = Buffer.alloc(12),
  tlvs = Buffer.alloc(0),
  length = block.length + tlvs.length,
}: HeaderParts): Buffer {
  return Buffer.concat([SIGNATURE, Buffer.of(command, family, length >> 8, length & 0xff), block, tlvs]);
}

/** The header for a client. @param protocol 1: a stream, 2: datagrams */
export function proxyHeader(client: string, tlvs: Uint8Array = Buffer.alloc(0), protocol = 1): Buffer {
  const source = Buffer.from(parseAddress(client)!);
  const block = Buffer.concat([source, Buffer.alloc(source.length, 9), Buffer.of(0x12, 0x34, 0, 53)]);
  return headerOf({ family: (source.length === 4 ? 0x10 : 0x20) | protocol, block, tlvs });
}

export function tlv(type: number, value: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(type, value.length >> 8, value.length & 0xff), value]);
}

/** Together with the first octets of the client, octet by octet, or before the client has sent anything. */
export type Way = 'together' | 'apart' | 'first';
export const WAYS: readonly Way[] = ['together', 'apart', 'first'];

export interface Relay {
  readonly port: number;
  /** Connections to the listener that are open. */
  open(): number;
  close(): void;
}

/** Relays connections to a port of this host. @param header what each begins with */
export async function startRelay(to: number, header: () => Buffer, way: Way = 'together'): Promise<Relay> {
  const sockets = new Set<Socket>();
  const upstreams = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.setNoDelay(true);
    return socket;
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = keep(connect({ port: to, host: '127.0.0.1', allowHalfOpen: true }));
    keep(client).once('close', () => upstream.destroy());
    upstreams.add(upstream);
    upstream.once('close', () => {
      upstreams.delete(upstream);
      client.destroy();
    });
    upstream.pipe(client);
    const start = async (first: Buffer): Promise<void> => {
      const octets = header();
      if (way === 'together') upstream.write(Buffer.concat([octets, first]));
      else {
        for (let at = 0; at < octets.length; at++) {
          upstream.write(octets.subarray(at, at + 1));
          await new Promise(setImmediate);
        }
        upstream.write(first);
      }
      client.pipe(upstream);
    };
    if (way === 'first') {
      upstream.write(header());
      client.pipe(upstream);
    } else
      client.once('data', (first: Buffer) => {
        client.pause();
        void start(first);
      });
  });
  const { port } = await listening(server, { host: '127.0.0.1', port: 0, reusePort: false });
  return {
    port,
    open: () => upstreams.size,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
