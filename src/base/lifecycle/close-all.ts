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
