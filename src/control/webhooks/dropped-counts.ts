const WEBHOOKS_MAX = 10_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Dropped deliveries that a webhook's history could still take at `at`, read from the database. */
export interface DroppedCount {
  readonly id: string;
  readonly capacity: number;
  /** Milliseconds since the epoch. `oldest`: creation of the oldest one of the last hour, or null. */
  readonly at: number;
  readonly oldest: number | null;
}

interface Remembered {
  readonly capacity: number;
  readonly until: number;
}

/** Caches counts of dropped deliveries, so that a flood of events does not count rows in every unit of work. */
export class DroppedCounts {
  readonly #known = new Map<string, Remembered>();
  /** The last number of an event of each customer, as this process left it. */
  readonly #numbers = new Map<string, number>();

  clear(): void {
    this.#known.clear();
    this.#numbers.clear();
  }

  /** Another process that gave a number may have written dropped deliveries. @param numbers as a unit that holds the cursor finds them */
  check(numbers: ReadonlyMap<string, number>): void {
    for (const [owner, number] of numbers) {
      if ((this.#numbers.get(owner) ?? number) !== number) this.clear();
    }
  }

  /** @returns null when the database must be asked */
  capacity(id: string, at: number): number | null {
    const known = this.#known.get(id);
    return known === undefined || at >= known.until ? null : known.capacity;
  }

  /** Call it only after the unit is committed. `numbers`: as it left them. */
  remember(counts: readonly DroppedCount[], numbers: ReadonlyMap<string, number>): void {
    if (this.#known.size + counts.length > WEBHOOKS_MAX || this.#numbers.size + numbers.size > WEBHOOKS_MAX)
      this.clear();
    for (const { id, capacity, at, oldest } of counts) {
      this.#known.set(id, { capacity, until: Math.max((oldest ?? at) + HOUR_MS, at + MINUTE_MS) });
    }
    for (const [owner, number] of numbers) this.#numbers.set(owner, number);
  }

  subtract(dropped: ReadonlyMap<string, number>): void {
    for (const [id, count] of dropped) {
      const known = this.#known.get(id);
      if (known !== undefined) this.#known.set(id, { ...known, capacity: known.capacity - count });
    }
  }
}
