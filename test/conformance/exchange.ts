import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { opt, option, query } from './messages.ts';

/** The reply to a packet, or null for silence. */
export type Exchange = (packet: Uint8Array) => Promise<Uint8Array | null>;

/** Sent after each packet. When only this query gets a reply, the packet got none. */
const NEXT_ID = 0x7777;
const LIMIT_MS = 10_000;

/** Sends one packet over UDP from a new socket, followed by a query that always gets a reply. */
export function overUdp(port: number): Exchange {
  return async (packet) => {
    const socket = createSocket('udp4');
    try {
      const replies = new Promise<Uint8Array[]>((resolve, reject) => {
        const seen: Uint8Array[] = [];
        const timer = setTimeout(() => reject(new Error('no reply over UDP')), LIMIT_MS);
        socket.on('message', (reply) => {
          seen.push(reply);
          if (!isNext(reply)) return;
          clearTimeout(timer);
          resolve(seen);
        });
      });
      socket.connect(port, '127.0.0.1');
      await once(socket, 'connect');
      // All packets of a socket go to one DNS worker, which answers in order.
      socket.send(packet);
      socket.send(next());
      return first(await replies);
    } finally {
      socket.close();
    }
  };
}

/** The same over TCP, on one connection. */
export function overTcp(port: number): Exchange {
  return async (packet) => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      const replies = readUntilNext(socket);
      for (const message of [packet, next()]) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(message.length);
        socket.write(Buffer.concat([length, message]));
      }
      return first(await replies);
    } finally {
      socket.destroy();
    }
  };
}

function readUntilNext(socket: Socket): Promise<Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const seen: Uint8Array[] = [];
    let held = Buffer.alloc(0);
    const timer = setTimeout(() => reject(new Error('no reply over TCP')), LIMIT_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('closed before the reply'));
    });
    socket.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      while (held.length >= 2 && held.length >= 2 + held.readUInt16BE()) {
        const end = 2 + held.readUInt16BE();
        seen.push(held.subarray(2, end));
        held = held.subarray(end);
      }
      if (seen.some(isNext)) resolve(seen);
    });
  });
}

/** Asks for NSID, which the packet cache never answers: a cached reply would overtake the packet before it. */
function next(): Uint8Array {
  const packet = query('uqrp.net', 6, opt(option(3, '')));
  packet.set([NEXT_ID >>> 8, NEXT_ID & 0xff]);
  return packet;
}

function isNext(reply: Uint8Array): boolean {
  return reply[0] === NEXT_ID >>> 8 && reply[1] === (NEXT_ID & 0xff);
}

function first(replies: readonly Uint8Array[]): Uint8Array | null {
  return replies.find((reply) => !isNext(reply)) ?? null;
}
