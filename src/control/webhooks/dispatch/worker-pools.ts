/**
 * `general`: any webhook. `reserve`: only webhooks whose last attempt took less than `LIMITS.webhookFastMs`, or that had none:
 * endpoints that answer late cannot take all slots.
 */
export type Pool = 'general' | 'reserve';

export interface SlotBounds {
  /** Slots in all, the reserve among them. */
  readonly slots: number;
  readonly reserved: number;
  /** Slots of one customer in each pool, at most. */
  readonly perCustomer: Readonly<Record<Pool, number>>;
}

/** Which slots of a dispatcher are taken, and by whom. */
export interface SlotPools {
  taken(): number;
  free(pool: Pool): number;
  held(userId: string, pool: Pool): number;
  /** Customers who have a slot. */
  holders(pool: Pool): Iterable<string>;
  take(userId: string, pool: Pool): void;
  giveBack(userId: string, pool: Pool): void;
  /**
   * Slots that one customer may have in a pool. In the general pool an equal part for each customer who waits.
   *
   * @param waiting how many customers wait for a slot
   */
  share(pool: Pool, waiting: number): number;
}

export function createSlotPools({ slots, reserved, perCustomer }: SlotBounds): SlotPools {
  const size: Readonly<Record<Pool, number>> = { general: slots - reserved, reserve: reserved };
  const held = { general: new Map<string, number>(), reserve: new Map<string, number>() };
  const taken = { general: 0, reserve: 0 };

  function add(userId: string, pool: Pool, by: 1 | -1): void {
    const count = (held[pool].get(userId) ?? 0) + by;
    if (count > 0) held[pool].set(userId, count);
    else held[pool].delete(userId);
    taken[pool] += by;
  }

  return {
    taken: () => taken.general + taken.reserve,
    free: (pool) => size[pool] - taken[pool],
    held: (userId, pool) => held[pool].get(userId) ?? 0,
    holders: (pool) => held[pool].keys(),
    take: (userId, pool) => add(userId, pool, 1),
    giveBack: (userId, pool) => add(userId, pool, -1),
    share(pool, waiting) {
      if (pool === 'reserve') return perCustomer.reserve;
      return Math.min(perCustomer.general, Math.ceil(size.general / Math.max(1, waiting)));
    },
  };
}
