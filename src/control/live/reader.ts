import { createWaker, loop } from '../../base/lifecycle/loop.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';

/** Milliseconds between two reads without a wake-up: a notice of another process may be lost. */
const POLL_MS = 1_000;
/** While nobody follows. */
const IDLE_MS = 3_600_000;

/** Milliseconds. */
const BACKOFF = { firstMs: 100, capMs: 1_000 };

/** Who follows what belongs to one customer. */
export interface LiveFollower<R> {
  readonly customerId: string;
  /** Called once: what comes after this place goes to `offer`, and nothing before. */
  begin(from: number): void;
  /** In order. Must not throw. */
  offer(rows: readonly R[]): void;
}

/** A table that only grows, each row at a place after those before it. */
export interface LiveSource<R> {
  /** @returns stops */
  listen(wake: () => void): () => void;
  /** The last place. */
  last(): Promise<number>;
  /** The next rows of these customers in (`after`, `last`]. `end`: as far as was read; null: to `last`. */
  read(span: {
    readonly customers: ReadonlySet<string>;
    readonly after: number;
    readonly last: number;
  }): Promise<{ readonly rows: readonly R[]; readonly end: number | null }>;
  customerOf(row: R): string;
}

export interface LiveReader<R> {
  /** @returns stops the follower */
  follow(follower: LiveFollower<R>): () => void;
  /** Everything up to this place was offered; null while nobody follows. */
  place(): number | null;
  /** Resolves when everything up to a place was offered, when the table has gone back, and at `close`. Only while somebody follows. */
  reached(place: number): Promise<true>;
  /** Stops reading. Resolves when a read under way has ended. */
  close(): Promise<void>;
}

/** Reads each new row once, whatever the number of followers. It reads nothing while there are none. */
export function openLiveReader<R>(
  source: LiveSource<R>,
  onError: (error: unknown) => void,
  timers: Timers,
): LiveReader<R> {
  const ending = new AbortController();
  const { signal } = ending;
  const waker = createWaker(signal, timers);
  const joining = new Set<LiveFollower<R>>();
  const followers = new Map<string, Set<LiveFollower<R>>>();
  let cursor: number | null = null;
  let running: Promise<void> | null = null;
  /** Who waits for a place. */
  const awaited = new Set<{ readonly place: number; readonly resolve: () => void }>();

  function moveTo(place: number): number {
    const isBack = cursor !== null && place < cursor;
    cursor = place;
    for (const one of awaited) {
      if (one.place > place && !isBack && !signal.aborted) continue;
      awaited.delete(one);
      one.resolve();
    }
    return place;
  }

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
    const last = await source.last();
    // Earlier than before: a backup was restored under this process.
    let place = moveTo(Math.min(cursor ?? last, last));
    admit(place);
    while (place < last && followers.size > 0 && !signal.aborted) {
      const customers: ReadonlySet<string> = new Set(followers.keys());
      const span: Awaited<ReturnType<typeof source.read>> = await source.read({
        customers,
        after: place,
        last,
      });
      place = span.end ?? last;
      for (const [customer, own] of Map.groupBy(span.rows, (row) => source.customerOf(row))) {
        for (const follower of [...(followers.get(customer) ?? [])]) follower.offer(own);
      }
      admit(moveTo(place));
    }
    return POLL_MS;
  }

  function start(): Promise<void> {
    const unlisten = source.listen(() => waker.wake());
    return loop({
      signal,
      waker,
      pass,
      backoff: BACKOFF,
      // While the database is away it fails each second: told once.
      onError: (error, failures) => failures === 1 && onError(error),
    }).finally(unlisten);
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
    place: () => cursor,
    reached(place) {
      if (signal.aborted || (cursor !== null && cursor >= place)) return Promise.resolve(true);
      return new Promise((resolve) => awaited.add({ place, resolve: () => resolve(true) }));
    },
    async close() {
      ending.abort();
      await running;
      for (const { resolve } of awaited) resolve();
    },
  };
}
