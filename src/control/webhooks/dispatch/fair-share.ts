import type { WaitingWebhook } from '../../store/webhooks/due-webhooks.ts';
import type { Pool, SlotPools } from './worker-pools.ts';

/** A webhook that is to have its turn, and the pool whose slot it gets. */
export interface PlannedTurn {
  readonly id: string;
  readonly userId: string;
  readonly pool: Pool;
}

export interface Waiting {
  /** Webhooks that may use the reserve. */
  readonly fast: readonly WaitingWebhook[];
  readonly slow: readonly WaitingWebhook[];
}

interface Queued extends WaitingWebhook {
  readonly isFast: boolean;
}

/**
 * Chooses which webhooks have their turn next: by customer first, the one with the fewest slots; of that customer's
 * webhooks the one longest without a turn. A customer who has an equal share of the general pool gets no more of it while
 * others wait (docs/adr/0013).
 *
 * @param limit turns at most
 */
export function planTurns({ fast, slow }: Waiting, pools: SlotPools, limit: number): PlannedTurn[] {
  const queues = queuesOf(fast, slow);
  const share = pools.share('general', queues.size);
  const planned: PlannedTurn[] = [];
  const given = new Map<string, Record<Pool, number>>();
  const free: Record<Pool, number> = { general: pools.free('general'), reserve: pools.free('reserve') };
  const held = (userId: string, pool: Pool): number =>
    pools.held(userId, pool) + (given.get(userId)?.[pool] ?? 0);

  function nextOf(userId: string, queue: readonly Queued[]): { hook: Queued; pool: Pool } | null {
    const [first] = queue;
    if (first === undefined) return null;
    if (free.general > 0 && held(userId, 'general') < share) return { hook: first, pool: 'general' };
    if (free.reserve <= 0 || held(userId, 'reserve') >= pools.share('reserve', queues.size)) return null;
    const hook = queue.find((one) => one.isFast);
    return hook === undefined ? null : { hook, pool: 'reserve' };
  }

  while (planned.length < limit) {
    let best: { hook: Queued; pool: Pool; slots: number } | null = null;
    for (const [userId, queue] of queues) {
      const next = nextOf(userId, queue);
      if (next === null) continue;
      const slots = held(userId, 'general') + held(userId, 'reserve');
      if (best === null || slots < best.slots || (slots === best.slots && isBefore(next.hook, best.hook))) {
        best = { ...next, slots };
      }
    }
    if (best === null) break;
    const { hook, pool } = best;
    const { id, user_id: userId } = hook;
    planned.push({ id, userId, pool });
    free[pool]--;
    const counts = given.get(userId) ?? { general: 0, reserve: 0 };
    counts[pool]++;
    given.set(userId, counts);
    const queue = queues.get(userId) ?? [];
    queue.splice(queue.indexOf(hook), 1);
  }
  return planned;
}

/** Each customer's webhooks, the one longest without a turn first. */
function queuesOf(fast: readonly WaitingWebhook[], slow: readonly WaitingWebhook[]): Map<string, Queued[]> {
  const all: Queued[] = [
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
