/**
 * Queries over UDP that the packet cache does not answer. They are put aside and worked off a few at a time, and the
 * socket is read between two such turns. So a query that the cache answers waits for the work of one turn at most, however
 * many others are unanswered; and when more comes than can be worked off, it is misses that are lost, not hits.
 */

import { LIMITS } from '../../../core/limits.ts';
import type { UdpOptions } from './reply-finisher.ts';

/** Misses of one turn. A batch holds 64 packets, so that four turns work off a batch, and hits come in between. */
export const MISSES_A_TURN = 16;
const IN_FLIGHT = 10_000;

/** One query that waits. */
export interface Miss<P> {
  /** A copy of its own: what it came in belongs to the next packet. */
  readonly query: Uint8Array;
  readonly peer: P;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
}

export interface MissWork<P> {
  /** Answers one miss; a fault that it throws costs that miss alone. */
  readonly answer: (miss: Miss<P>) => void;
  /** Called after the last miss of a turn. */
  readonly turnEnded?: () => void;
  /** Calls its argument in a later turn of the event loop, after the socket was read. */
  readonly defer?: (turn: () => void) => void;
}

type Settings = Pick<UdpOptions, 'inFlight' | 'onFault'> & Pick<UdpOptions, 'observe'>;

/**
 * A queue of misses and of the answers that services still owe.
 *
 * The oldest miss is answered first, and what finds the queue full is dropped. At full length the queue is worth some 20 ms
 * of work, or 200 ms of signatures, so that even its last reply finds a client that still waits; to answer the newest first
 * would let the oldest wait for ever while a flood lasts, and answer retries before what they repeat.
 */
export class MissQueue<P> {
  readonly #settings: Settings;
  readonly #work: MissWork<P>;
  readonly #defer: (turn: () => void) => void;
  readonly #inFlightMax: number;
  /** A ring: its length is a limit, and never changes. */
  readonly #ring: (Miss<P> | null)[] = new Array(LIMITS.udpMisses).fill(null);
  #first = 0;
  #length = 0;
  #octets = 0;
  #inFlight = 0;
  #scheduled = false;
  #finished: (() => void) | null = null;

  constructor(settings: Settings, work: MissWork<P>) {
    this.#settings = settings;
    this.#work = work;
    this.#defer = work.defer ?? setImmediate;
    this.#inFlightMax = settings.inFlight ?? IN_FLIGHT;
  }

  /** Whether a miss of so many octets can be put aside. If not, it is counted as dropped. */
  hasRoom(octets: number): boolean {
    const room = this.#length < LIMITS.udpMisses && this.#octets + octets <= LIMITS.udpMissOctets;
    if (!room) this.#settings.observe.missDropped();
    return room;
  }

  /** Puts a miss aside; only after `hasRoom`. */
  push(miss: Miss<P>): void {
    this.#ring[(this.#first + this.#length) % LIMITS.udpMisses] = miss;
    this.#length++;
    this.#octets += miss.query.length;
    this.#schedule();
  }

  /** As many answers of services are outstanding as there may be. */
  get isFull(): boolean {
    return this.#inFlight >= this.#inFlightMax;
  }

  /** Once `finish` was called: what comes now is dropped. */
  get isFinishing(): boolean {
    return this.#finished !== null;
  }

  /** Calls `deliver` with the reply when it comes; a rejection, or what `deliver` throws, is a fault. */
  wait<T>(reply: Promise<T>, deliver: (reply: T) => void): void {
    this.#inFlight++;
    reply
      .then(deliver)
      .catch(this.#settings.onFault)
      .finally(() => {
        this.#inFlight--;
        this.#settle();
      });
  }

  /** Resolves when nothing waits any more, or after `graceMs` milliseconds. */
  finish(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const grace = setTimeout(() => this.#finished?.(), graceMs);
      this.#finished = () => {
        clearTimeout(grace);
        resolve();
      };
      this.#settle();
    });
  }

  #settle(): void {
    if (this.#length === 0 && this.#inFlight === 0) this.#finished?.();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#defer(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    const { answer, turnEnded } = this.#work;
    for (let left = Math.min(MISSES_A_TURN, this.#length); left > 0; left--) {
      const miss = this.#shift();
      try {
        answer(miss);
      } catch (fault) {
        this.#settings.onFault(fault);
      }
    }
    turnEnded?.();
    if (this.#length > 0) this.#schedule();
    else this.#settle();
  }

  #shift(): Miss<P> {
    const miss = this.#ring[this.#first]!;
    this.#ring[this.#first] = null;
    this.#first = (this.#first + 1) % LIMITS.udpMisses;
    this.#length--;
    this.#octets -= miss.query.length;
    return miss;
  }
}
