/**
 * A reply leaves from the address that was asked (RFC 2181 §4.1). Node's sockets do not tell that address: of a socket of every address the kernel would
 * send from the one that its routes prefer. So each address of this host gets a socket of its own, whose packets the kernel prefers to give it.
 */
import type { Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { every } from '../../base/lifecycle/loop.ts';
import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';

/** Milliseconds between two looks at the addresses of this host. */
const LOOK_MS = 10_000;
/** Link-local addresses (RFC 4291 §2.5.6) are bound with their interface; the kernel answers from them as it should. */
const LINK_LOCAL = /^fe[89ab]/i;

/** Addresses of this host that a socket for every address has. `::` has those of IPv4 too. */
export function localAddresses(host: string): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !LINK_LOCAL.test(address) && (host === '::' || !isIPv6(address)));
}

export interface LocalSocketsOptions {
  readonly addresses: () => readonly string[];
  /** Rejects where the address cannot be bound, as one that is new or goes away. It is tried again. */
  readonly open: (address: string) => Promise<Socket>;
  readonly timers?: Timers;
}

/** Keeps a socket open for each address, those that come and go included. @returns ends that; the sockets are closed then */
export async function keepLocalSockets({
  addresses,
  open,
  timers = backgroundTimers,
}: LocalSocketsOptions): Promise<() => Promise<void>> {
  const sockets = new Map<string, Socket>();

  async function look(): Promise<void> {
    const present = new Set(addresses());
    for (const [address, socket] of sockets) {
      if (present.has(address)) continue;
      sockets.delete(address);
      socket.close();
    }
    for (const address of present) {
      if (sockets.has(address)) continue;
      const socket = await open(address).catch(() => null);
      if (socket !== null) sockets.set(address, socket);
    }
  }

  await look();
  const looking = every({ ms: LOOK_MS, timers, task: look, onError() {} });
  return async () => {
    await looking.stop();
    await Promise.all([...sockets.values()].map((socket) => new Promise<void>((done) => socket.close(done))));
  };
}
