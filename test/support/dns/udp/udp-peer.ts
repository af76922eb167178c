/** A client of one listener for UDP, and what the suites of listeners share. */

import { createSocket, type Socket } from 'node:dgram';
import { type PeerAddress, readAddress } from '../../../../src/base/network/address.ts';
import { ServerCookies } from '../../../../src/dns/shared/cookies.ts';
import type { Listener } from '../../../../src/dns/shared/listener.ts';
import type { UdpOptions } from '../../../../src/dns/udp/replies.ts';

export type ListenUdp = (options: UdpOptions) => Promise<Listener>;

export interface Peer {
  readonly socket: Socket;
  readonly replies: Buffer[];
  readonly send: (message: Uint8Array) => void;
}

export async function withListener(
  listen: ListenUdp,
  options: UdpOptions,
  scenario: (peer: Peer, listener: Listener) => Promise<void>,
): Promise<void> {
  const listener = await listen(options);
  const socket = createSocket(options.host.includes(':') ? 'udp6' : 'udp4');
  const replies: Buffer[] = [];
  socket.on('message', (reply) => replies.push(reply));
  const host = options.host === '::' ? '::1' : options.host;
  try {
    await scenario(
      { socket, replies, send: (message) => socket.send(message, listener.address.port, host) },
      listener,
    );
  } finally {
    socket.close();
    await listener.close(0);
  }
}

/** IPv4, whichever way it comes. */
export function textOf(address: PeerAddress): string {
  const octets = new Uint8Array(16);
  return octets.subarray(0, readAddress(address, octets)).join('.');
}

/** A clock that stands still, so that no period ends and no cookie ages. */
export const clock = (): number => 1_700_000_000_000;
export const CLIENT = '0102030405060708';
export const cookies = new ServerCookies(() => new Uint8Array(16), clock);

export type Scenario = Parameters<typeof withListener>[2];
