/** One step of a shutdown. */
export type CloseStep = () => void | Promise<void>;

/**
 * Runs the steps one after the other, in the order given, each even when one before it has failed.
 *
 * @throws AggregateError with every error, once all steps have run
 */
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

/**
 * Runs the steps at the same time, each to its end, so that the slowest alone decides how long a shutdown takes.
 *
 * @throws AggregateError with every error, once all steps have ended
 */
export async function closeTogether(steps: Iterable<CloseStep>): Promise<void> {
  const results = await Promise.allSettled(Array.from(steps, async (step) => step()));
  const errors = results
    .filter((result) => result.status === 'rejected')
    .map(({ reason }) => reason as unknown);
  if (errors.length > 0) throw new AggregateError(errors, 'not everything could be closed');
}
