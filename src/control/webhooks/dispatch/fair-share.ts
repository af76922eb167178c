import type { WaitingWebhook } from '../../store/webhooks/due-webhooks.ts';
import type { PoolName, WorkerPools } from './worker-pools.ts';

export interface WorkerAssignment {
  readonly id: string;
  readonly userId: string;
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
 * no customer gets more than an equal share of the general pool (docs/adr/0013).
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
  const busyFor = (userId: string, pool: PoolName): number =>
    pools.busyFor(userId, pool) + (added.get(userId)?.[pool] ?? 0);

  function nextOf(
    userId: string,
    queue: readonly QueuedWebhook[],
  ): { hook: QueuedWebhook; pool: PoolName } | null {
    const [first] = queue;
    if (first === undefined) return null;
    if (free.general > 0 && busyFor(userId, 'general') < share) return { hook: first, pool: 'general' };
    if (free.reserve <= 0 || busyFor(userId, 'reserve') >= pools.share('reserve', queues.size)) return null;
    const hook = queue.find((one) => one.isFast);
    return hook === undefined ? null : { hook, pool: 'reserve' };
  }

  while (assigned.length < limit) {
    let best: { hook: QueuedWebhook; pool: PoolName; workers: number } | null = null;
    for (const [userId, queue] of queues) {
      const next = nextOf(userId, queue);
      if (next === null) continue;
      const workers = busyFor(userId, 'general') + busyFor(userId, 'reserve');
      const isFairer =
        best === null ||
        workers < best.workers ||
        (workers === best.workers && isBefore(next.hook, best.hook));
      if (isFairer) best = { ...next, workers };
    }
    if (best === null) break;
    const { hook, pool } = best;
    const { id, user_id: userId } = hook;
    assigned.push({ id, userId, pool });
    free[pool]--;
    const counts = added.get(userId) ?? { general: 0, reserve: 0 };
    counts[pool]++;
    added.set(userId, counts);
    const queue = queues.get(userId) ?? [];
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
    (hook) => hook.user_id,
  );
}

function isBefore(a: WaitingWebhook, b: WaitingWebhook): boolean {
  return a.served_at === b.served_at ? a.id < b.id : a.served_at < b.served_at;
}
