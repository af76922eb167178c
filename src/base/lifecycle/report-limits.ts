const FIRST_MS = 60_000;
const LONGEST_MS = 3_600_000;

/**
 * Selects which repetitions of an event are reported: the first of each key, then after one minute, two, four, up to an hour. After an hour
 * without a repetition the key begins again. Keys must be of a bounded set.
 * @param clock milliseconds
 */
export function createReportLimits<K>(clock: () => number): (key: K) => boolean {
  const seen = new Map<K, { lastAt: number; dueAt: number; waitMs: number }>();
  return (key) => {
    const now = clock();
    const before = seen.get(key);
    if (before === undefined || now - before.lastAt >= LONGEST_MS) {
      seen.set(key, { lastAt: now, dueAt: now + FIRST_MS, waitMs: FIRST_MS });
      return true;
    }
    before.lastAt = now;
    if (now < before.dueAt) return false;
    before.waitMs = Math.min(LONGEST_MS, before.waitMs * 2);
    before.dueAt = now + before.waitMs;
    return true;
  };
}
