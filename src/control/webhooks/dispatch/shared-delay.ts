/**
 * A wait that several callers share: all resolve together, at most `ms` after the first of them called. Callers that commit
 * after it share one commit.
 *
 * @param ms milliseconds; 0: no wait
 */
export function createSharedDelay(ms: number): () => Promise<void> {
  if (ms === 0) return () => Promise.resolve();
  let next: Promise<void> | null = null;
  return () => {
    next ??= new Promise((resolve) => {
      setTimeout(() => {
        next = null;
        resolve();
      }, ms);
    });
    return next;
  };
}
