/** Below it the numbers are written anew, and holders that have nothing are forgotten. */
const SCALE_MIN = 1e-3;
/** Less than this is nothing. */
const AMOUNT_MIN = 1e-3;

/**
 * How much each holder has of something bounded that time gives back. Where a holder may have at most as much as is left, one that takes
 * all it can leaves half, k of them leave 1/(k + 1), and there is room for another one that has less.
 */
export class Portions<K> {
  readonly #amounts = new Map<K, number>();
  /** Each number of the map counts so many times: what time gives back is one multiplication for all. */
  #scale = 1;

  of(holder: K): number {
    return (this.#amounts.get(holder) ?? 0) * this.#scale;
  }

  /** @param amount below zero: the holder gives it back */
  add(holder: K, amount: number): void {
    this.#set(holder, this.of(holder) + amount);
  }

  /** Everyone keeps this part of what it has, 0 to 1: who has most gets most back, until all who want as much have the same. */
  keep(part: number): void {
    this.#scale *= part;
    if (part === 0) this.#amounts.clear();
    if (this.#amounts.size === 0) this.#scale = 1;
    if (this.#scale > SCALE_MIN) return;
    const kept = [...this.#amounts.keys()].map((holder) => [holder, this.of(holder)] as const);
    this.#scale = 1;
    for (const [holder, amount] of kept) this.#set(holder, amount);
  }

  #set(holder: K, amount: number): void {
    if (amount < AMOUNT_MIN) this.#amounts.delete(holder);
    else this.#amounts.set(holder, amount / this.#scale);
  }
}
