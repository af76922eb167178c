const WEBHOOKS_MAX = 10_000;

const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

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

  /** Call it when another process may have written deliveries. */
  clear(): void {
    this.#known.clear();
  }

  /** @returns null when the database must be asked */
  capacity(id: string, at: number): number | null {
    const known = this.#known.get(id);
    return known === undefined || at >= known.until ? null : known.capacity;
  }

  /** Call it only after the unit is committed. */
  remember(counts: readonly DroppedCount[]): void {
    for (const { id, capacity, at, oldest } of counts) {
      if (this.#known.size >= WEBHOOKS_MAX) this.#known.clear();
      this.#known.set(id, { capacity, until: Math.max((oldest ?? at) + HOUR_MS, at + MINUTE_MS) });
    }
  }

  subtract(dropped: ReadonlyMap<string, number>): void {
    for (const [id, count] of dropped) {
      const known = this.#known.get(id);
      if (known !== undefined) this.#known.set(id, { ...known, capacity: known.capacity - count });
    }
  }
}
