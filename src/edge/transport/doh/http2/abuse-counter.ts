/** Counts what a peer may do a limited number of times: a burst at once, and a number a second after that. */
export class AbuseCounter {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #at: number;

  /** @param now milliseconds, as of `spend` */
  constructor({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }, now: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#at = now;
  }

  /** @returns whether there was enough left */
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
