/** A wait that callers share: all resolve together, `ms` after the first call, so they can share one commit. 0: no wait. */
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
