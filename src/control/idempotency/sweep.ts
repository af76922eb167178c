import { forgetAnswers } from '../../store/tables/idempotency-keys.ts';
import type { HasClock, HasStore } from '../accounts/deps.ts';
import { ANSWER_KEPT } from './once.ts';

/** Keys of one unit of work. More would delay writers. */
const BATCH = 500;

/** Milliseconds. */
export const SWEEP_EVERY = 60_000;

export async function sweepAnswers({ store, clock }: HasStore & HasClock): Promise<void> {
  const before = clock() - ANSWER_KEPT;
  while ((await store.write((tx) => forgetAnswers(tx, before, BATCH))) === BATCH);
}
