/** One deadline for several steps. Without `release` a timer and a listener leak. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly endsAt: number;
  readonly release: () => void;
}

export function deadline(ms: number, outer: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, ms);
  if (outer?.aborted) abort();
  outer?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    endsAt: performance.now() + ms,
    release: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', abort);
    },
  };
}
