/**
 * Lets what several ask for at about the same time happen together: everybody who waits is let go at the next beat, at most `ms`
 * after the first of them came. 0: nobody waits.
 */
export function createBeat(ms: number): () => Promise<void> {
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
