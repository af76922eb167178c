import type { FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.ts';
import { take } from '../../http/guard.ts';
import type { Budget, NetworkBudget } from '../../http/limiter.ts';
import type { ApiDeps } from '../api-deps.ts';

/** A budget and the key of who draws on it. */
export type Draw = readonly [Budget, string];

/** The budgets of the client's address: its own, and over IPv6 that of its /48, which holds many addresses of one subscriber. */
export function addressBudgets(request: FastifyRequest, budget: NetworkBudget): Draw[] {
  const site = request.siteKey();
  return [[budget, request.addressKey()], ...(site === null ? [] : [[`${budget}Per48`, site] as const])];
}

/** Draws on all budgets, or on none. @throws AppError 429 */
export async function takeAll(
  { limiter, clock }: Pick<ApiDeps, 'limiter' | 'clock'>,
  draws: readonly Draw[],
): Promise<void> {
  const taken: Draw[] = [];
  try {
    for (const draw of draws) {
      await take(limiter, ...draw);
      taken.push(draw);
    }
  } catch (error) {
    // Now: over PostgreSQL each draw takes time, and a period that one of them began would be later than the first.
    const now = clock();
    for (const draw of taken) await limiter.giveBack(...draw, now);
    throw error;
  }
}

/** What a failed sign-in costs the network that it came from. */
export function failureBudgets(request: FastifyRequest): Draw[] {
  return [...addressBudgets(request, 'failedSignIns'), ...addressBudgets(request, 'failedSignInsDaily')];
}

/**
 * Runs a sign-in that draws on budgets of failures. The hits are counted before it runs, so that attempts at the same time count too,
 * and reversed unless it failed with 401.
 * @throws AppError 429, and errors of `signIn`
 */
export async function slowingFailures<T>(
  deps: Pick<ApiDeps, 'limiter' | 'clock'>,
  budgets: readonly Draw[],
  signIn: () => Promise<T>,
): Promise<T> {
  await takeAll(deps, budgets);
  const now = deps.clock();
  let isFailure = false;
  try {
    return await signIn();
  } catch (error) {
    isFailure = isRefusal(error);
    throw error;
  } finally {
    if (!isFailure) for (const one of budgets) await deps.limiter.giveBack(...one, now);
  }
}

/**
 * Runs a sign-in that is never refused for what others of its network did: a failure counts, and where a budget is used up it counts
 * nothing more. @throws errors of `signIn`
 */
export async function countingFailures<T>(
  { limiter }: Pick<ApiDeps, 'limiter'>,
  budgets: readonly Draw[],
  signIn: () => Promise<T>,
): Promise<T> {
  try {
    return await signIn();
  } catch (error) {
    if (isRefusal(error)) for (const one of budgets) await limiter.take(...one);
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof AppError && error.code === 'authentication_error';
}
