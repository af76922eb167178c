import type { Deps } from '../accounts/deps.ts';
import { forgetAnswers } from '../store/tables/idempotency-keys.ts';
import { ANSWER_KEPT } from './once.ts';

/** Keys deleted in one unit of work: so few that writers do not notice. */
const BATCH = 500;

/** Milliseconds between two sweeps. */
export const SWEEP_EVERY = 60_000;

/** Deletes the answers that are older than they are kept. */
export async function sweepAnswers({ store, clock }: Pick<Deps, 'store' | 'clock'>): Promise<void> {
  const before = clock() - ANSWER_KEPT;
  while ((await store.write((tx) => forgetAnswers(tx, before, BATCH))) === BATCH);
}
