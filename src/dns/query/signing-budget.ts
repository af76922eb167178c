import { FairQueue } from '../../base/lifecycle/fair-queue.ts';
import { Portions } from '../../base/lifecycle/portions.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';

/** Shortest timer of the queue, milliseconds: one timer releases several questions. */
const SLEEP_MS = 5;

/** A waiting question. Exactly one of the two functions is called, once. */
interface Waiter {
  readonly run: () => void;
  readonly refuse: () => void;
}

/** Whose question it is: its share of sources (`queueShare`) and of names (`nameShare`). */
export interface QuestionShares {
  readonly source: number;
  readonly name: number;
}

/**
 * Limits the signatures of one worker per second, so that signing leaves time for other questions. A token bucket with
 * the capacity of one second; cached signatures are free.
 *
 * A share of names may have at most as much as is left, so that a flood at one namespace leaves half of the capacity to the others, and
 * has what time brings if nobody else wants it. Questions wait in a queue that is fair to sources and to names.
 */
export class SigningBudget {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #queue = new FairQueue<Waiter>(LIMITS.signingQueue, ({ refuse }) => refuse());
  /** Signatures of each share of names that time has not brought back. */
  readonly #taken = new Portions<number>();
  readonly #mayGo = (name: number): boolean => this.#hasRoom(name);
  #left: number = LIMITS.signaturesPerSecond;
  #filledAt: number;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
    this.#filledAt = clock();
  }

  /** Whether a question of this share of names may be answered now. False while others of it wait: they go first. */
  isOpen(name: number): boolean {
    this.#fill();
    return this.#hasRoom(name) && !this.#queue.holds(name);
  }

  /** Takes the cost of one reply. The budget can go below zero by the few signatures of that reply. */
  spend(signatures: number, name: number): void {
    this.#left -= signatures;
    this.#taken.add(name, signatures);
  }

  /**
   * Runs `answer` when the budget allows, or `refuse` when a question of lighter shares takes the slot.
   * Returns null when the queue is full and no question in it is of heavier shares.
   */
  wait<T>(
    answer: () => T | Promise<T>,
    refuse: () => T,
    { source, name }: QuestionShares,
  ): Promise<T> | null {
    if (!this.#queue.makeRoom(source, name)) return null;
    const { promise, resolve } = Promise.withResolvers<T>();
    const waiter = { run: () => resolve(answer()), refuse: () => resolve(refuse()) };
    this.#queue.push(waiter, source, name);
    if (this.#queue.length === 1) this.#sleep();
    return promise;
  }

  #hasRoom(name: number): boolean {
    return this.#left >= 1 && this.#taken.of(name) + 1 <= this.#left;
  }

  #sleep(): void {
    const ms = Math.ceil(((1 - this.#left) * 1000) / LIMITS.signaturesPerSecond);
    this.#timers.after(Math.max(SLEEP_MS, ms), () => this.#release());
  }

  #release(): void {
    this.#fill();
    for (;;) {
      const waiter = this.#queue.next(this.#mayGo);
      if (waiter === undefined) break;
      waiter.run();
    }
    if (this.#queue.length > 0) this.#sleep();
  }

  /** A clock that was set back adds nothing; one that was set forward fills the bucket at most. */
  #fill(): void {
    const now = this.#clock();
    const earned = (Math.max(0, now - this.#filledAt) * LIMITS.signaturesPerSecond) / 1000;
    this.#filledAt = now;
    const missing = LIMITS.signaturesPerSecond - this.#left;
    if (missing <= 0 || earned === 0) return;
    const stillMissing = Math.max(0, missing - earned);
    this.#taken.keep(stillMissing / missing);
    this.#left = LIMITS.signaturesPerSecond - stillMissing;
  }
}
