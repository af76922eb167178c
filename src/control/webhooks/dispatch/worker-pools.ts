/** `reserve`: only webhooks without a last attempt or with one under `LIMITS.webhookFastMs`: slow endpoints cannot fill it. */
export type PoolName = 'general' | 'reserve';

export interface PoolLimits {
  /** Workers in all, the reserve included. */
  readonly workers: number;
  readonly reserved: number;
  readonly perCustomer: Readonly<Record<PoolName, number>>;
}

export interface WorkerPools {
  busy(): number;
  free(pool: PoolName): number;
  busyFor(customerId: string, pool: PoolName): number;
  customers(pool: PoolName): Iterable<string>;
  occupy(customerId: string, pool: PoolName): void;
  release(customerId: string, pool: PoolName): void;
  /** Workers that one customer may have while `waiting` customers wait. In the general pool: an equal part. */
  share(pool: PoolName, waiting: number): number;
}

export function createWorkerPools({ workers, reserved, perCustomer }: PoolLimits): WorkerPools {
  const size: Readonly<Record<PoolName, number>> = { general: workers - reserved, reserve: reserved };
  const counts = { general: new Map<string, number>(), reserve: new Map<string, number>() };
  const busy = { general: 0, reserve: 0 };

  function add(customerId: string, pool: PoolName, by: 1 | -1): void {
    const count = (counts[pool].get(customerId) ?? 0) + by;
    if (count > 0) counts[pool].set(customerId, count);
    else counts[pool].delete(customerId);
    busy[pool] += by;
  }

  return {
    busy: () => busy.general + busy.reserve,
    free: (pool) => size[pool] - busy[pool],
    busyFor: (customerId, pool) => counts[pool].get(customerId) ?? 0,
    customers: (pool) => counts[pool].keys(),
    occupy: (customerId, pool) => add(customerId, pool, 1),
    release: (customerId, pool) => add(customerId, pool, -1),
    share(pool, waiting) {
      if (pool === 'reserve') return perCustomer.reserve;
      return Math.min(perCustomer.general, Math.ceil(size.general / Math.max(1, waiting)));
    },
  };
}
