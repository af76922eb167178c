import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { QUEUE_SHARES } from '../shared/handler.ts';

/** Shortest timer of the queue, milliseconds: one timer releases several questions. */
const SLEEP_MS = 5;

/** A waiting question. Exactly one of the two functions is called, once. */
interface Waiter {
  readonly run: () => void;
  readonly refuse: () => void;
}

/**
 * Limits the signatures of one worker per second, so that signing leaves time for other questions. A token bucket with
 * the capacity of one second; cached signatures are free.
 *
 * Questions wait in shares and leave in rotation. A full queue drops the newest question of the longest share, so a
 * flood delays only its share (stochastic fairness queueing).
 */
export class SigningBudget {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #shares: readonly Waiter[][] = Array.from({ length: QUEUE_SHARES }, () => []);
  #waiting = 0;
  #next = 0;
  #left: number = LIMITS.signaturesPerSecond;
  #filledAt: number;

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock;
    this.#timers = timers;
    this.#filledAt = clock();
  }

  /** Whether a question may be answered now. False while others wait: they go first. */
  get isOpen(): boolean {
    this.#fill();
    return this.#left >= 1 && this.#waiting === 0;
  }

  /** Takes the cost of one reply. The budget can go below zero by the few signatures of that reply. */
  spend(signatures: number): void {
    this.#left -= signatures;
  }

  /**
   * Runs `answer` when the budget allows, or `refuse` when a question of a shorter share takes the slot. `share`: 0 to
   * QUEUE_SHARES - 1. Returns null when the queue is full and this share is the longest.
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

  /** The oldest question of the next share that has one. At least one question must wait. */
  #shift(): Waiter {
    for (;;) {
      const waiter = this.#shares[this.#next]!.shift();
      this.#next = (this.#next + 1) % QUEUE_SHARES;
      if (waiter === undefined) continue;
      this.#waiting--;
      return waiter;
    }
  }

  /** A clock that was set back adds nothing; one that was set forward fills the bucket at most. */
  #fill(): void {
    const now = this.#clock();
    const earned = (Math.max(0, now - this.#filledAt) * LIMITS.signaturesPerSecond) / 1000;
    this.#left = Math.min(LIMITS.signaturesPerSecond, this.#left + earned);
    this.#filledAt = now;
  }
}
