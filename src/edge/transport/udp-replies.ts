/** What the listeners for UDP have in common, whichever way packets come: the last touch on replies, and those that wait. */

import type { PeerAddress } from './address.ts';
import { ReplyDecorator } from './decorator.ts';
import { headerRcode, type ListenOptions } from './listener.ts';

/** Decides about each reply to an unproven address before it leaves: response rate limiting. */
export interface ReplyLimiter {
  /**
   * @param reply `reply[0..length)` is the message; it may be rewritten in place to a shorter one (truncated, TC set)
   * @returns octets to send, 0 to stay silent
   */
  admit(address: PeerAddress, reply: Uint8Array, length: number): number;
}

export interface UdpOptions extends ListenOptions {
  readonly limiter?: ReplyLimiter | null;
  /** Queries waiting for a service at one time; above it further ones are dropped, as a full receive buffer would. */
  readonly inFlight?: number;
}

/** Room for a UDP reply (decisions, section 5). */
export const UDP_OCTETS = 4096;
const IN_FLIGHT = 10_000;

/** Applies limiter and options to replies, and counts what is to leave. */
export class ReplyFinisher {
  readonly #options: UdpOptions;
  readonly #limiter: ReplyLimiter | null;
  readonly #decorator: ReplyDecorator;

  constructor(options: UdpOptions) {
    this.#options = options;
    this.#limiter = options.limiter ?? null;
    this.#decorator = new ReplyDecorator('udp', { cookies: options.cookies ?? null });
  }

  /**
   * @param query in `query[0, queryLength)`
   * @param reply in `reply[0, length)`; changed in place, and it may become longer
   * @param seconds since the query came
   * @returns octets to send, 0: none
   */
  finish(
    query: Uint8Array,
    queryLength: number,
    address: PeerAddress,
    reply: Uint8Array,
    length: number,
    seconds: number,
  ): number {
    const decorator = this.#decorator;
    const asked = decorator.read(query, queryLength);
    // A valid server cookie exempts: the address is no one's but the client's.
    const isProven = asked && decorator.prove(address);
    const limited = this.#limiter !== null && !isProven;
    const admitted = limited ? this.#limiter.admit(address, reply, length) : length;
    if (admitted === 0) return 0;
    const octets = asked ? decorator.apply(reply, admitted) : admitted;
    this.#options.observe.reply('udp', octets, headerRcode(reply), seconds);
    return octets;
  }
}

/** Queries that wait for a service. */
export class WaitingQueries {
  readonly #onFault: (fault: unknown) => void;
  readonly #max: number;
  #count = 0;
  #finished: (() => void) | null = null;

  constructor(options: UdpOptions) {
    this.#onFault = options.onFault;
    this.#max = options.inFlight ?? IN_FLIGHT;
  }

  get isFull(): boolean {
    return this.#count >= this.#max;
  }

  /** Once `finish` was called: what comes now is dropped. */
  get isFinishing(): boolean {
    return this.#finished !== null;
  }

  /** Calls `deliver` with the reply when it comes; a rejection, or what `deliver` throws, is a fault. */
  wait<T>(reply: Promise<T>, deliver: (reply: T) => void): void {
    this.#count++;
    reply
      .then(deliver)
      .catch(this.#onFault)
      .finally(() => {
        this.#count--;
        if (this.#count === 0) this.#finished?.();
      });
  }

  /** Resolves when nothing waits any more, or after `graceMs` milliseconds. */
  finish(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#finished = () => {
        clearTimeout(patience);
        resolve();
      };
      const patience = setTimeout(this.#finished, graceMs);
      if (this.#count === 0) this.#finished();
    });
  }
}
