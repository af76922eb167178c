import { once } from 'node:events';

/** @throws the signal's reason when it aborts before `work` ends */
export async function unlessCancelled<T>(work: Promise<T>, cancel: AbortSignal): Promise<T> {
  const waiting = new AbortController();
  const cancelled = once(cancel, 'abort', { signal: waiting.signal }).then(() => cancel.throwIfAborted());
  try {
    cancel.throwIfAborted();
    await Promise.race([work, cancelled]);
    return await work;
  } finally {
    // Nobody else looks at it when the signal had aborted before.
    work.catch(() => {});
    cancelled.catch(() => {});
    waiting.abort();
  }
}
