/** Webhooks whose counts are remembered. */
const WEBHOOKS_MAX = 10_000;

const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** How many more dropped deliveries a webhook's history takes, as the database had it at `at`. */
export interface DroppedCount {
  readonly id: string;
  readonly capacity: number;
  /** Milliseconds since the epoch, as `oldest`: when the oldest of the last hour was made. Null: there is none. */
  readonly at: number;
  readonly oldest: number | null;
}

/** A remembered count, and the time at which it must be read again. */
interface Remembered {
  readonly capacity: number;
  readonly until: number;
}

/** Remembers the counts of dropped deliveries, so that a flood of events does not count them again in every unit of work. */
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

  /** Remembers what a unit of work has counted. Call it only after the unit is committed. */
  remember(counts: readonly DroppedCount[]): void {
    for (const { id, capacity, at, oldest } of counts) {
      if (this.#known.size >= WEBHOOKS_MAX) this.#known.clear();
      this.#known.set(id, { capacity, until: Math.max((oldest ?? at) + HOUR_MS, at + MINUTE_MS) });
    }
  }

  /** Subtracts dropped deliveries that are committed. */
  subtract(dropped: ReadonlyMap<string, number>): void {
    for (const [id, count] of dropped) {
      const known = this.#known.get(id);
      if (known !== undefined) this.#known.set(id, { ...known, capacity: known.capacity - count });
    }
  }
}
