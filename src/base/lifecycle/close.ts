import { once } from 'node:events';

export type CloseStep = () => void | Promise<void>;

/** Runs the steps in order, each even when an earlier one failed. @throws AggregateError with every error, at the end */
export async function closeAll(steps: Iterable<CloseStep>): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, 'not everything could be closed');
}

/** Runs the steps at the same time, each to its end. @throws AggregateError with every error, at the end */
export async function closeTogether(steps: Iterable<CloseStep>): Promise<void> {
  const results = await Promise.allSettled(Array.from(steps, async (step) => step()));
  const errors = results
    .filter((result) => result.status === 'rejected')
    .map(({ reason }) => reason as unknown);
  if (errors.length > 0) throw new AggregateError(errors, 'not everything could be closed');
}

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
