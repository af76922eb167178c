import { loop } from '../../lifecycle/loop.ts';
import { backgroundTimers } from '../../lifecycle/timers.ts';
import { createWaker } from '../../lifecycle/waker.ts';
import { lastBlock, type NewRow, readNewRows } from '../store/query-log/new-rows.ts';
import type { Store } from '../store/store.ts';

/** Milliseconds between two reads without a wake-up. On SQLite other processes do not wake this one. */
const POLL_MS = 1_000;
/** While nobody follows. */
const IDLE_MS = 3_600_000;
/** Rows of all customers that one statement examines. */
const SPAN = 1_000;

/** Milliseconds. Batches come about once a second. */
const BACKOFF = { firstMs: 100, capMs: 1_000 };

/** Who follows the log of one customer. */
export interface Follower {
  readonly customerId: string;
  /** Called once: rows of the blocks after this one come to `offer`, and none before. */
  begin(from: number): void;
  /** Rows of the customer, in order. Must not throw. */
  offer(rows: readonly NewRow[]): void;
}

export interface LiveReader {
  /** @returns stops the follower */
  follow(follower: Follower): () => void;
  /** Stops reading. Resolves when a read under way has ended. */
  close(): Promise<void>;
}

interface LiveReaderOptions {
  readonly store: Store;
  readonly onError: (error: unknown) => void;
}

/** Reads each new row once, whatever the number of followers. It reads nothing while there are none. */
export function openLiveReader({ store, onError }: LiveReaderOptions): LiveReader {
  const ending = new AbortController();
  const { signal } = ending;
  const waker = createWaker(signal, backgroundTimers);
  const joining = new Set<Follower>();
  const followers = new Map<string, Set<Follower>>();
  /** Every block up to it was offered; null while nobody follows. */
  let cursor: number | null = null;
  let running: Promise<void> | null = null;

  /** Between two spans: a follower that joins during one would miss its rows. */
  function admit(from: number): void {
    for (const follower of joining) {
      const others = followers.get(follower.customerId);
      if (others === undefined) followers.set(follower.customerId, new Set([follower]));
      else others.add(follower);
      follower.begin(from);
    }
    joining.clear();
  }

  async function pass(): Promise<number> {
    if (joining.size === 0 && followers.size === 0) {
      cursor = null;
      return IDLE_MS;
    }
    const last = await lastBlock(store.read);
    cursor ??= last;
    admit(cursor);
    while (cursor < last && followers.size > 0 && !signal.aborted) {
      const customers = [...followers.keys()];
      const { rows, end }: { rows: readonly NewRow[]; end: number | null } = await readNewRows(
        store.read,
        customers,
        { after: cursor, last, limit: SPAN },
      );
      for (const [customer, own] of Map.groupBy(rows, ({ customer_id }) => customer_id)) {
        for (const follower of followers.get(customer) ?? []) follower.offer(own);
      }
      cursor = end ?? last;
      admit(cursor);
    }
    return POLL_MS;
  }

  function start(): Promise<void> {
    const unlisten = store.onWork('query_log', () => waker.wake());
    return loop({ signal, waker, pass, backoff: BACKOFF, onError }).finally(unlisten);
  }

  return {
    follow(follower) {
      joining.add(follower);
      running ??= start();
      waker.wake();
      return () => {
        joining.delete(follower);
        const others = followers.get(follower.customerId);
        others?.delete(follower);
        if (others?.size === 0) followers.delete(follower.customerId);
      };
    },
    async close() {
      ending.abort();
      await running;
    },
  };
}
