import type { WaitingWebhook } from '../../store/webhooks/dispatch.ts';

/** `reserve`: only webhooks without a last attempt or with one under `LIMITS.webhookFastMs`: slow endpoints cannot fill it. */
export type PoolName = 'general' | 'reserve';

interface PoolLimits {
  /** Workers in all, the reserve included. */
  readonly workers: number;
  readonly reserved: number;
  readonly perCustomer: Readonly<Record<PoolName, number>>;
}

export type WorkerPools = ReturnType<typeof createWorkerPools>;

export function createWorkerPools({ workers, reserved, perCustomer }: PoolLimits) {
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
    free: (pool: PoolName) => size[pool] - busy[pool],
    busyFor: (customerId: string, pool: PoolName) => counts[pool].get(customerId) ?? 0,
    customers: (pool: PoolName) => counts[pool].keys(),
    occupy: (customerId: string, pool: PoolName) => add(customerId, pool, 1),
    release: (customerId: string, pool: PoolName) => add(customerId, pool, -1),
    /** Workers that one customer may have while `waiting` customers wait. In the general pool: an equal part. */
    share(pool: PoolName, waiting: number): number {
      if (pool === 'reserve') return perCustomer.reserve;
      return Math.min(perCustomer.general, Math.ceil(size.general / Math.max(1, waiting)));
    },
  };
}

interface WorkerAssignment {
  readonly id: string;
  readonly customerId: string;
  readonly pool: PoolName;
}

export interface WaitingWebhooks {
  /** Webhooks that may use the reserve. */
  readonly fast: readonly WaitingWebhook[];
  readonly slow: readonly WaitingWebhook[];
}

interface QueuedWebhook extends WaitingWebhook {
  readonly isFast: boolean;
}

/**
 * Picks the customer with the fewest workers, then that customer's webhook with the oldest `served_at`. While others wait,
 * no customer gets more than an equal share of the general pool (docs/adr/11-webhooks.md).
 */
export function assignWorkers(
  { fast, slow }: WaitingWebhooks,
  pools: WorkerPools,
  limit: number,
): WorkerAssignment[] {
  const queues = queuesOf(fast, slow);
  const share = pools.share('general', queues.size);
  const assigned: WorkerAssignment[] = [];
  const added = new Map<string, Record<PoolName, number>>();
  const free: Record<PoolName, number> = { general: pools.free('general'), reserve: pools.free('reserve') };
  const busyFor = (customerId: string, pool: PoolName): number =>
    pools.busyFor(customerId, pool) + (added.get(customerId)?.[pool] ?? 0);

  function nextOf(
    customerId: string,
    queue: readonly QueuedWebhook[],
  ): { hook: QueuedWebhook; pool: PoolName } | null {
    const [first] = queue;
    if (first === undefined) return null;
    if (free.general > 0 && busyFor(customerId, 'general') < share) return { hook: first, pool: 'general' };
    if (free.reserve <= 0 || busyFor(customerId, 'reserve') >= pools.share('reserve', queues.size))
      return null;
    const hook = queue.find((one) => one.isFast);
    return hook === undefined ? null : { hook, pool: 'reserve' };
  }

  while (assigned.length < limit) {
    let best: { hook: QueuedWebhook; pool: PoolName; workers: number } | null = null;
    for (const [customerId, queue] of queues) {
      const next = nextOf(customerId, queue);
      if (next === null) continue;
      const workers = busyFor(customerId, 'general') + busyFor(customerId, 'reserve');
      const isFairer =
        best === null ||
        workers < best.workers ||
        (workers === best.workers && isBefore(next.hook, best.hook));
      if (isFairer) best = { ...next, workers };
    }
    if (best === null) break;
    const { hook, pool } = best;
    const { id, customer_id: customerId } = hook;
    assigned.push({ id, customerId, pool });
    free[pool]--;
    const counts = added.get(customerId) ?? { general: 0, reserve: 0 };
    counts[pool]++;
    added.set(customerId, counts);
    const queue = queues.get(customerId) ?? [];
    queue.splice(queue.indexOf(hook), 1);
  }
  return assigned;
}

function queuesOf(
  fast: readonly WaitingWebhook[],
  slow: readonly WaitingWebhook[],
): Map<string, QueuedWebhook[]> {
  const all: QueuedWebhook[] = [
    ...fast.map((hook) => ({ ...hook, isFast: true })),
    ...slow.map((hook) => ({ ...hook, isFast: false })),
  ];
  return Map.groupBy(
    all.toSorted((a, b) => (isBefore(a, b) ? -1 : 1)),
    (hook) => hook.customer_id,
  );
}

function isBefore(a: WaitingWebhook, b: WaitingWebhook): boolean {
  return a.served_at === b.served_at ? a.id < b.id : a.served_at < b.served_at;
}
