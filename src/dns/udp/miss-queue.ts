/** Queries over UDP that the packet cache cannot answer. Some are answered per tick; the socket is read between ticks. */

import { LIMITS } from '../../base/limits.ts';
import type { UdpOptions } from './reply-finisher.ts';

/** A batch holds 64 packets: four ticks answer a batch of misses, and hits are read in between. */
export const MISSES_PER_TICK = 16;
const IN_FLIGHT = 10_000;

export interface Miss<P> {
  /** A copy: the next packet overwrites the original. */
  readonly query: Uint8Array;
  readonly peer: P;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
}

export interface MissWork<P> {
  /** Answers one miss; what it throws costs that miss alone. */
  readonly answer: (miss: Miss<P>) => void;
  /** Called after the last miss of a tick. */
  readonly tickEnded?: () => void;
  /** Calls its argument in a later tick, after the socket was read. */
  readonly defer?: (tick: () => void) => void;
}

type Settings = Pick<UdpOptions, 'inFlight' | 'onFault'> & Pick<UdpOptions, 'observe'>;

/**
 * Misses and pending answers of services, oldest first; a full queue drops new misses. Full, it holds about 20 ms of work (200 ms
 * of signatures), which clients still wait for. Newest first would starve old queries and answer retries first.
 */
export class MissQueue<P> {
  readonly #settings: Settings;
  readonly #work: MissWork<P>;
  readonly #defer: (tick: () => void) => void;
  readonly #inFlightMax: number;
  /** A ring of fixed length. */
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

  /** Whether a miss of so many octets fits. If not, it counts as dropped. */
  hasRoom(octets: number): boolean {
    const room = this.#length < LIMITS.udpMisses && this.#octets + octets <= LIMITS.udpMissOctets;
    if (!room) this.#settings.observe.missDropped();
    return room;
  }

  /** Call `hasRoom` first. */
  push(miss: Miss<P>): void {
    this.#ring[(this.#first + this.#length) % LIMITS.udpMisses] = miss;
    this.#length++;
    this.#octets += miss.query.length;
    this.#schedule();
  }

  /** The limit of pending answers is reached. */
  get isFull(): boolean {
    return this.#inFlight >= this.#inFlightMax;
  }

  /** `finish` was called: new misses are dropped. */
  get isFinishing(): boolean {
    return this.#finished !== null;
  }

  /** Calls `deliver` with the reply; a rejection, or what `deliver` throws, is a fault. */
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

  /** Resolves when the queue is empty, or after `graceMs`. */
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
    this.#defer(() => this.#tick());
  }

  #tick(): void {
    this.#scheduled = false;
    const { answer, tickEnded } = this.#work;
    for (let left = Math.min(MISSES_PER_TICK, this.#length); left > 0; left--) {
      const miss = this.#shift();
      try {
        answer(miss);
      } catch (fault) {
        this.#settings.onFault(fault);
      }
    }
    tickEnded?.();
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
