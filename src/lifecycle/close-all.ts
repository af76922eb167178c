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
