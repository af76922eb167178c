import type { Clock } from '../../base/clock.ts';

/** Milliseconds between two updates of `last_used_at`. */
const EVERY = 60_000;

/** Credentials whose last use is in memory. Above it all are deleted, and read again from the database. */
const REMEMBERED_MAX = 10_000;

export interface LastUses {
  /** Begins to note a use, unless one was noted in the last minute. @param lastUsedAt as the database has it */
  note(id: string, lastUsedAt: number | null): void;
  /** Waits for updates under way. */
  settle(): Promise<void>;
}

/**
 * @param write stores a use at `now`, unless one after `before` is stored
 * @param onError called when that failed; the request does not wait for it
 */
export function lastUses(
  clock: Clock,
  write: (id: string, now: number, before: number) => Promise<void>,
  onError: (error: unknown) => void,
): LastUses {
  const noted = new Map<string, number>();
  const writing = new Set<Promise<void>>();
  return {
    note(id, lastUsedAt) {
      const now = clock();
      const last = Math.max(lastUsedAt ?? -Infinity, noted.get(id) ?? -Infinity);
      if (now - last < EVERY) return;
      if (noted.size >= REMEMBERED_MAX) noted.clear();
      noted.set(id, now);
      const note: Promise<void> = write(id, now, now - EVERY)
        .catch(onError)
        .finally(() => writing.delete(note));
      writing.add(note);
    },
    async settle() {
      await Promise.all(writing);
    },
  };
}
