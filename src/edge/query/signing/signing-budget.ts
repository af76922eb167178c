import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { Timers } from '../../../lifecycle/timers.ts';

/** Shortest sleep of the queue, milliseconds: several questions are released at one time. */
const SLEEP_MS = 5;

/**
 * Bounds the signatures that one worker makes in a second, so that questions that need a signature leave time for all others.
 * A token bucket that holds a second's worth. What came from a cache costs nothing.
 */
export class SigningBudget {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #waiting: (() => void)[] = [];
  #left: number = LIMITS.signaturesPerSecond;
  #filledAt: number;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
    this.#filledAt = clock();
  }

  /** Whether a question may be answered now. Nobody overtakes those that wait. */
  get isOpen(): boolean {
    this.#fill();
    return this.#left >= 1 && this.#waiting.length === 0;
  }

  /** Takes what one reply has cost. A reply has few signatures, so the budget is overdrawn by no more than those. */
  spend(signatures: number): void {
    this.#left -= signatures;
  }

  /**
   * Runs `answer` when the budget allows it, in the order of asking.
   *
   * @returns null when too many wait already
   */
  wait<T>(answer: () => T | Promise<T>): Promise<T> | null {
    if (this.#waiting.length >= LIMITS.signingQueue) return null;
    const { promise, resolve } = Promise.withResolvers<T>();
    this.#waiting.push(() => resolve(answer()));
    if (this.#waiting.length === 1) this.#sleep();
    return promise;
  }

  #sleep(): void {
    const ms = Math.ceil(((1 - this.#left) * 1000) / LIMITS.signaturesPerSecond);
    this.#timers.after(Math.max(SLEEP_MS, ms), () => this.#release());
  }

  #release(): void {
    this.#fill();
    while (this.#left >= 1 && this.#waiting.length > 0) this.#waiting.shift()!();
    if (this.#waiting.length > 0) this.#sleep();
  }

  /** A clock that was set back adds nothing; one that was set forward fills the bucket, and no more. */
  #fill(): void {
    const now = this.#clock();
    const earned = (Math.max(0, now - this.#filledAt) * LIMITS.signaturesPerSecond) / 1000;
    this.#left = Math.min(LIMITS.signaturesPerSecond, this.#left + earned);
    this.#filledAt = now;
  }
}
