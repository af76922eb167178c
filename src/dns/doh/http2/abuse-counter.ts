/** Limits how often a peer may do something: a burst, and a rate per second. */
export class AbuseCounter {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #at: number;

  /** @param now milliseconds, the clock of `spend` */
  constructor({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }, now: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#at = now;
  }

  /** @returns whether the limit allows it */
  spend(now: number, amount = 1): boolean {
    if (now !== this.#at) {
      this.earn((Math.max(0, now - this.#at) * this.#perSecond) / 1000);
      this.#at = now;
    }
    this.#left -= amount;
    return this.#left >= 0;
  }

  earn(amount: number): void {
    this.#left = Math.min(this.#burst, this.#left + amount);
  }
}
