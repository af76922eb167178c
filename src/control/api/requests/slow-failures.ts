import { AppError } from '../../../core/errors.ts';
import type { Budget } from '../../limits/rules.ts';
import type { ApiDeps } from '../deps.ts';
import { take } from './guard.ts';

/**
 * Runs a sign-in that draws on budgets of failures. The hits are counted before it runs, so that attempts at the same time count too,
 * and reversed unless it failed with 401.
 * @throws AppError 429, and errors of `signIn`
 */
export async function slowingFailures<T>(
  { limiter, clock }: Pick<ApiDeps, 'limiter' | 'clock'>,
  budgets: readonly (readonly [Budget, string])[],
  signIn: () => Promise<T>,
): Promise<T> {
  const now = clock();
  const taken: (readonly [Budget, string])[] = [];
  let isFailure = false;
  try {
    for (const one of budgets) {
      await take(limiter, ...one);
      taken.push(one);
    }
    return await signIn();
  } catch (error) {
    isFailure = error instanceof AppError && error.code === 'authentication_error';
    throw error;
  } finally {
    if (!isFailure) for (const one of taken) await limiter.giveBack(...one, now);
  }
}
