/** Connections from proxies, until their PROXY header is whole. */

import type { Socket } from 'node:net';
import { backgroundTimers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatAddress } from '../../base/network/address.ts';
import { PARTIAL_HEADER, proxyHeaderOctets, readProxiedAddress } from './proxy-header.ts';

/** Exactly one of the two is called, once. */
interface Outcome {
  /** The octets after the header wait in the socket. @param client null: the header names none */
  readonly named: (client: string | null) => void;
  /** There was no header in time, or the peer left. */
  readonly failed: () => void;
}

/** The client is not known yet, so none of the limits by address hold here: the number of connections and their time are bounded instead. */
export class AwaitedHeaders {
  readonly #ms: number;
  /** Oldest first, each with how it fails. */
  readonly #waiting = new Map<Socket, () => void>();
  readonly #address = new Uint8Array(16);

  /** @param ms for a header to be whole */
  constructor(ms: number) {
    this.#ms = ms;
  }

  begin(socket: Socket, { named, failed }: Outcome): void {
    const [oldest] = this.#waiting.size >= LIMITS.proxyHeaders ? this.#waiting.values() : [];
    oldest?.();
    let held: Buffer = Buffer.alloc(0);
    const onReadable = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const octets = proxyHeaderOctets(held, held.length);
      if (octets === PARTIAL_HEADER) return;
      if (octets < 0) {
        fail();
        return;
      }
      end();
      if (held.length > octets) socket.unshift(held.subarray(octets));
      const length = readProxiedAddress(held, this.#address);
      named(length === 0 ? null : formatAddress(this.#address.subarray(0, length)));
    };
    const end = (): void => {
      this.#waiting.delete(socket);
      cancel();
      socket.off('readable', onReadable);
      for (const event of ['end', 'close', 'error']) socket.off(event, fail);
    };
    const fail = (): void => {
      end();
      failed();
    };
    const cancel = backgroundTimers.after(this.#ms, fail);
    this.#waiting.set(socket, fail);
    socket.on('readable', onReadable);
    for (const event of ['end', 'close', 'error']) socket.on(event, fail);
  }

  /** All fail. */
  close(): void {
    for (const fail of this.#waiting.values()) fail();
  }
}
