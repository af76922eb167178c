import type { FastifyRequest } from 'fastify';
import type { ApiDeps } from '../deps.ts';
import type { Budget, NetworkBudget } from '../limits/rules.ts';
import { take } from './guard.ts';

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
  const now = clock();
  const taken: Draw[] = [];
  try {
    for (const draw of draws) {
      await take(limiter, ...draw);
      taken.push(draw);
    }
  } catch (error) {
    for (const draw of taken) await limiter.giveBack(...draw, now);
    throw error;
  }
}
