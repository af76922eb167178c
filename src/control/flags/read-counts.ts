import { every } from '../../base/lifecycle/loop.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import type { Limiter } from '../../http/limiter.ts';
import type { FlagNamespace } from './source.ts';

interface ReadCount {
  readonly namespaceId: string;
  readonly hour: number;
  readonly answers: number;
}

interface ReadBatch {
  readonly node: string;
  readonly batch: string;
  readonly counts: readonly ReadCount[];
}

/** What evaluations need beside the API. */
export interface HasFlags {
  readonly flags: {
    /** Of this process: one in the database would end evaluations when that is away. */
    readonly limiter: Limiter;
    /** 32 octets that are used for nothing else. */
    readonly ticketKey: Uint8Array;
    /** Takes each batch of a node once (`store/usage.ts`). */
    readonly usage: { add(batch: ReadBatch): Promise<void> };
  };
}

interface ReadCountsOptions {
  readonly usage: HasFlags['flags']['usage'];
  readonly newId: () => string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onError: (error: unknown) => void;
}

const HOUR = 3_600_000;
const FLUSH_MS = 5_000;
/** The name under which batches are stored, where nodes have theirs. */
const NODE = 'flags';

/** Private reads over OFREP, added to the usage of the namespaces every five seconds. A process that crashes loses what it counted last. */
export function openReadCounts({ usage, newId, clock, timers, onError }: ReadCountsOptions) {
  let counts = new Map<string, ReadCount>();
  /** It was not taken yet: it is sent again under the same id, so that it counts once. */
  let batch: ReadBatch | null = null;

  async function flush(): Promise<void> {
    while (batch !== null || counts.size > 0) {
      if (batch === null) {
        const some = [...counts].slice(0, LIMITS.usageBatchCounts);
        for (const [key] of some) counts.delete(key);
        batch = { node: NODE, batch: newId(), counts: some.map(([, count]) => count) };
      }
      await usage.add(batch);
      batch = null;
    }
  }

  const flushing = every({ ms: FLUSH_MS, task: flush, onError, timers });
  return {
    /** Counts one read of a namespace that is not open. */
    add({ id, isOpen }: FlagNamespace): void {
      if (isOpen) return;
      const hour = Math.floor(clock() / HOUR) * HOUR;
      const key = `${id} ${hour}`;
      const answers = (counts.get(key)?.answers ?? 0) + 1;
      // As nodes do: what cannot be sent is bounded.
      if (answers === 1 && counts.size >= LIMITS.usageWaitingCounts) return;
      counts.set(key, { namespaceId: id, hour, answers });
    },
    async close(): Promise<void> {
      await flushing.stop();
      await flush().catch(onError);
      counts = new Map();
    },
  };
}
