import type { Clock } from '../../../core/clock.ts';
import { LIMITS } from '../../../core/limits.ts';
import type { Timers } from '../../../lifecycle/timers.ts';
import { QUEUE_SHARES } from '../../transport/shared/handler.ts';

/** Shortest sleep of the queue, milliseconds: one timer releases several questions. */
const SLEEP_MS = 5;

/** A question that waits: exactly one of the two is called, once. */
interface Waiter {
  readonly run: () => void;
  readonly refuse: () => void;
}

/**
 * Bounds the signatures that one worker makes in a second, so that questions that need a signature leave time for all others.
 * A token bucket that holds a second's worth. A signature from the cache costs nothing.
 *
 * Questions wait in shares. They are released one from each share in rotation, and a full queue gives up the newest question of
 * the longest share: a source that floods delays and displaces its own share (stochastic fairness queueing).
 */
export class SigningBudget {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #shares: readonly Waiter[][] = Array.from({ length: QUEUE_SHARES }, () => []);
  #waiting = 0;
  /** The share from which the next question is released, if it has one. */
  #next = 0;
  #left: number = LIMITS.signaturesPerSecond;
  #filledAt: number;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
    this.#filledAt = clock();
  }

  /** Whether a question may be answered now. False while others wait: they come first. */
  get isOpen(): boolean {
    this.#fill();
    return this.#left >= 1 && this.#waiting === 0;
  }

  /** Takes what one reply has cost. A reply has few signatures, so the budget is overdrawn by no more than those. */
  spend(signatures: number): void {
    this.#left -= signatures;
  }

  /**
   * Runs `answer` when the budget allows it.
   *
   * @param refuse makes the reply when the question loses its place to a question of a shorter share
   * @param share 0 to QUEUE_SHARES - 1
   * @returns null when too many wait already, and most of them in this share
   */
  wait<T>(answer: () => T | Promise<T>, refuse: () => T, share: number): Promise<T> | null {
    const own = this.#shares[share]!;
    if (this.#waiting >= LIMITS.signingQueue) {
      const longest = this.#longest();
      if (longest.length <= own.length + 1) return null;
      longest.pop()!.refuse();
      this.#waiting--;
    }
    const { promise, resolve } = Promise.withResolvers<T>();
    own.push({ run: () => resolve(answer()), refuse: () => resolve(refuse()) });
    this.#waiting++;
    if (this.#waiting === 1) this.#sleep();
    return promise;
  }

  #longest(): Waiter[] {
    let longest = this.#shares[0]!;
    for (const share of this.#shares) if (share.length > longest.length) longest = share;
    return longest;
  }

  #sleep(): void {
    const ms = Math.ceil(((1 - this.#left) * 1000) / LIMITS.signaturesPerSecond);
    this.#timers.after(Math.max(SLEEP_MS, ms), () => this.#release());
  }

  #release(): void {
    this.#fill();
    while (this.#left >= 1 && this.#waiting > 0) this.#shift().run();
    if (this.#waiting > 0) this.#sleep();
  }

  /** The oldest question of the next share that has one. Called only while some wait. */
  #shift(): Waiter {
    for (;;) {
      const waiter = this.#shares[this.#next]!.shift();
      this.#next = (this.#next + 1) % QUEUE_SHARES;
      if (waiter === undefined) continue;
      this.#waiting--;
      return waiter;
    }
  }

  /** A clock that was set back adds nothing; one that was set forward fills the bucket, and no more. */
  #fill(): void {
    const now = this.#clock();
    const earned = (Math.max(0, now - this.#filledAt) * LIMITS.signaturesPerSecond) / 1000;
    this.#left = Math.min(LIMITS.signaturesPerSecond, this.#left + earned);
    this.#filledAt = now;
  }
}
